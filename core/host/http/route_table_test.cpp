#include "host/http/route_table.hpp"
#include "host/http/response_writer.hpp"
#include "penstock/testkit/fake_context.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <stdexcept>

namespace penstock::host::http {

class RouteTableTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RouteTableTest);
  CPPUNIT_TEST(a_path_finds_its_route_and_its_parameters);
  CPPUNIT_TEST(a_literal_path_wins_over_a_pattern);
  CPPUNIT_TEST(other_methods_are_listed);
  CPPUNIT_TEST(an_encoded_slash_never_separates);
  CPPUNIT_TEST(escapes_are_decoded_once);
  CPPUNIT_TEST(the_same_route_twice_is_a_defect);
  CPPUNIT_TEST(malformed_route_paths_are_a_defect);
  CPPUNIT_TEST(query_values_are_decoded);
  CPPUNIT_TEST(a_response_cannot_break_its_framing);
  CPPUNIT_TEST(an_event_cannot_forge_another);
  CPPUNIT_TEST_SUITE_END();

 public:
  void a_path_finds_its_route_and_its_parameters() {
    // The order number in the path decides whose order is read.
    add(HttpMethod::Post, "/api/orders/{orderNo}/cancel");
    CPPUNIT_ASSERT(find(Verb::Post, "/api/orders/42/cancel") == Lookup::Found);
    CPPUNIT_ASSERT_EQUAL(std::string("42"), params_.at(0).second);
    CPPUNIT_ASSERT_EQUAL(std::string("orderNo"), std::string(params_.at(0).first));
    for (const char* path :
         {"/api/orders//cancel", "/api/orders/42", "/api/orders/42/cancel/", "/api/orders/42/cance",
          "/api/orders/42/43/cancel", "/", "//", "/api/orders/../orders/42/cancel"}) {
      CPPUNIT_ASSERT_MESSAGE(path, find(Verb::Post, path) == Lookup::NoSuchPath);
    }
  }

  void a_literal_path_wins_over_a_pattern() {
    // Otherwise adding a pattern would take another plugin's path away.
    add(HttpMethod::Get, "/a/{x}");
    add(HttpMethod::Get, "/a/b");
    CPPUNIT_ASSERT(find(Verb::Get, "/a/b") == Lookup::Found);
    CPPUNIT_ASSERT_EQUAL(std::string("/a/b"), route_->spec.path);
    CPPUNIT_ASSERT(find(Verb::Get, "/a/c") == Lookup::Found);
    CPPUNIT_ASSERT_EQUAL(std::string("/a/{x}"), route_->spec.path);
  }

  void other_methods_are_listed() {
    // A 405 must say what the path answers to; HEAD goes wherever GET goes.
    add(HttpMethod::Get, "/a");
    add(HttpMethod::Post, "/a");
    CPPUNIT_ASSERT(find(Verb::Delete, "/a") == Lookup::OtherMethods);
    CPPUNIT_ASSERT_EQUAL(std::string("GET, HEAD, POST"), allow_);
    CPPUNIT_ASSERT(find(Verb::Head, "/a") == Lookup::Found);
    CPPUNIT_ASSERT(find(Verb::Other, "/a") == Lookup::OtherMethods);
  }

  void an_encoded_slash_never_separates() {
    // "a%2Fb" is one segment: read as two it would reach another route than the proxy in front checked.
    add(HttpMethod::Get, "/p/{x}");
    add(HttpMethod::Get, "/p/a/b");
    CPPUNIT_ASSERT(find(Verb::Get, "/p/a%2Fb") == Lookup::Found);
    CPPUNIT_ASSERT_EQUAL(std::string("a/b"), params_.at(0).second);
    CPPUNIT_ASSERT(find(Verb::Get, "/p/%61/b") == Lookup::Found);
    CPPUNIT_ASSERT_EQUAL(std::string("/p/a/b"), route_->spec.path);
  }

  void escapes_are_decoded_once() {
    // Decoding twice turns "%2541" into "A", past every check that saw "%41".
    add(HttpMethod::Get, "/p/{x}");
    CPPUNIT_ASSERT(find(Verb::Get, "/p/%2541+") == Lookup::Found);
    CPPUNIT_ASSERT_EQUAL(std::string("%41+"), params_.at(0).second);
    for (const char* path : {"/p/%", "/p/%4", "/p/%zz", "/p/a%00b", "/p/a%0d%0ab"}) {
      CPPUNIT_ASSERT_MESSAGE(path, find(Verb::Get, path) == Lookup::BadPath);
    }
  }

  void the_same_route_twice_is_a_defect() {
    // One of the two plugins would silently never be asked.
    add(HttpMethod::Get, "/a/{x}");
    CPPUNIT_ASSERT_THROW(add(HttpMethod::Get, "/a/{x}"), std::invalid_argument);
    CPPUNIT_ASSERT_THROW(add(HttpMethod::Get, "/a/{y}"), std::invalid_argument);
    CPPUNIT_ASSERT_THROW(add(HttpMethod::Post, "/a/{y}"), std::invalid_argument);
    add(HttpMethod::Post, "/a/{x}");
  }

  void malformed_route_paths_are_a_defect() {
    // Such a path would never match, and nobody would know why.
    for (const char* path : {"", "a", "/a{x}", "/{}", "/{x", "/a?b", "/a%20"}) {
      CPPUNIT_ASSERT_THROW_MESSAGE(path, add(HttpMethod::Get, path), std::invalid_argument);
    }
  }

  void query_values_are_decoded() {
    // Values come back as they were before the client encoded them, and damaged ones not at all.
    CPPUNIT_ASSERT_EQUAL(std::string("a b&c"), query_value("x=1&y=a+b%26c&y=2", "y").value());
    CPPUNIT_ASSERT_EQUAL(std::string(), query_value("x", "x").value());
    CPPUNIT_ASSERT(!query_value("x=%0a", "x"));
    CPPUNIT_ASSERT(!query_value("x=%4", "x"));
    CPPUNIT_ASSERT(!query_value("", ""));
  }

  void a_response_cannot_break_its_framing() {
    // A handler that puts a client's text into a header must not write a second response.
    const Framing framing{"", false, false};
    std::string out;
    const auto with_header = [](std::string name, std::string value) {
      HttpResponse response;
      response.headers.emplace_back(std::move(name), std::move(value));
      return response;
    };
    CPPUNIT_ASSERT(append_response(with_header("Location", "/a"), framing, out));
    out.clear();
    CPPUNIT_ASSERT(!append_response(with_header("Location", "a\r\nEvil: 1"), framing, out));
    CPPUNIT_ASSERT(!append_response(with_header("A: b\r\nC", "d"), framing, out));
    CPPUNIT_ASSERT(!append_response(with_header("Content-Length", "1"), framing, out));
    CPPUNIT_ASSERT(!append_response(with_header("transfer-encoding", "chunked"), framing, out));
    CPPUNIT_ASSERT(out.empty());
  }

  void an_event_cannot_forge_another() {
    // Line breaks in data are the format's own separators.
    CPPUNIT_ASSERT_EQUAL(std::string("id: 71\nevent: stateX\ndata: a\ndata: \ndata: b\ndata: c\n\n"),
                         format_event("7\n1", "state\r\nX", "a\n\nb\r\nc"));
    CPPUNIT_ASSERT_EQUAL(std::string("data: \n\n"), format_event("", "", ""));
  }

 private:
  void add(HttpMethod method, const std::string& path) {
    table_.add(std::shared_ptr<Route>(
        new Route{{HttpListener::Public, method, path, 1024, {}}, {metrics_, path, "GET"}, false}));
  }
  Lookup find(Verb verb, std::string_view path) { return table_.find(verb, path, route_, params_, allow_); }

  testkit::RecordingMetrics metrics_;
  RouteTable table_;
  const Route* route_ = nullptr;
  Params params_;
  std::string allow_;
};
CPPUNIT_TEST_SUITE_REGISTRATION(RouteTableTest);

}  // namespace penstock::host::http
