#include "host/http/request_head.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <string>

namespace penstock::host::http {

class RequestHeadTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RequestHeadTest);
  CPPUNIT_TEST(a_plain_request_is_read_into_its_parts);
  CPPUNIT_TEST(an_absolute_target_means_its_path);
  CPPUNIT_TEST(what_frames_a_body_in_two_ways_is_refused);
  CPPUNIT_TEST(a_body_without_a_length_is_refused);
  CPPUNIT_TEST(header_values_are_printable_ascii);
  CPPUNIT_TEST(an_encoded_word_stays_plain_text);
  CPPUNIT_TEST(malformed_heads_are_refused);
  CPPUNIT_TEST(repeated_identity_headers_are_refused);
  CPPUNIT_TEST(sizes_are_bounded_and_the_bound_itself_is_allowed);
  CPPUNIT_TEST(every_beginning_of_a_good_head_is_incomplete);
  CPPUNIT_TEST(nonsense_is_refused_before_a_line_ends);
  CPPUNIT_TEST(only_a_plain_1_1_request_keeps_the_connection);
  CPPUNIT_TEST_SUITE_END();

 public:
  void a_plain_request_is_read_into_its_parts() {
    // The bytes after the head belong to the body and must not be counted in.
    const std::string text =
        "POST /api/orders?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nX-User-Id:  u1 \r\n\r\n{}";
    CPPUNIT_ASSERT(parse(text) == HeadState::Complete);
    CPPUNIT_ASSERT(head_.verb == Verb::Post);
    CPPUNIT_ASSERT_EQUAL(std::string("/api/orders"), std::string(head_.path));
    CPPUNIT_ASSERT_EQUAL(std::string("a=b"), std::string(head_.query));
    CPPUNIT_ASSERT_EQUAL(std::string("u1"), std::string(head_.header("x-uSER-id").value()));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, head_.body_size());
    CPPUNIT_ASSERT_EQUAL(text.size() - 2, head_.size);
    CPPUNIT_ASSERT(head_.keep_alive);
  }

  void an_absolute_target_means_its_path() {
    // Proxies may send it, and every server has to take it.
    CPPUNIT_ASSERT(parse("GET http://shop.example:80/a?x HTTP/1.1\r\nHost: x\r\n\r\n") ==
                   HeadState::Complete);
    CPPUNIT_ASSERT_EQUAL(std::string("/a"), std::string(head_.path));
    CPPUNIT_ASSERT(parse("GET http://shop.example HTTP/1.1\r\nHost: x\r\n\r\n") == HeadState::Complete);
    CPPUNIT_ASSERT_EQUAL(std::string("/"), std::string(head_.path));
  }

  void what_frames_a_body_in_two_ways_is_refused() {
    // Two readers of such a request see two different next requests: that is how one is smuggled in.
    for (const char* headers : {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                                "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                                "Content-Length: 5\r\nTransfer-Encoding: gzip\r\n",
                                "transfer-encoding: identity\r\ncontent-length: 5\r\n"}) {
      expect_refusal(400, "AMBIGUOUS_LENGTH", post_with(headers));
    }
    for (const char* headers :
         {"Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n",
          "Content-Length: 5, 5\r\n", "Content-Length: +5\r\n", "Content-Length: -5\r\n",
          "Content-Length: 5.0\r\n", "Content-Length: 0x5\r\n", "Content-Length:\r\n",
          "Content-Length: 5 5\r\n", "Content-Length: 99999999999999999999\r\n"}) {
      expect_refusal(400, "BAD_CONTENT_LENGTH", post_with(headers));
    }
  }

  void a_body_without_a_length_is_refused() {
    // Reading such a body to the end of the connection would hold it for ever.
    expect_refusal(411, "LENGTH_REQUIRED", post_with(""));
    expect_refusal(411, "LENGTH_REQUIRED", post_with("Transfer-Encoding: chunked\r\n"));
    expect_refusal(411, "LENGTH_REQUIRED", "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  }

  void header_values_are_printable_ascii() {
    // Values reach logs and keys; a control character there forges a line.
    for (const std::string& value :
         {std::string("a\tb"), std::string("a\x7f"), std::string("a\x01"), std::string("caf\xc3\xa9"),
          std::string("a\r\n b"), std::string("a\0b", 3)}) {
      const std::string text = "GET / HTTP/1.1\r\nHost: x\r\nX-User-Id: " + value + "\r\n\r\n";
      CPPUNIT_ASSERT_MESSAGE(value, parse(text) == HeadState::Refused);
      CPPUNIT_ASSERT_EQUAL(400, refusal_.status);
    }
  }

  void an_encoded_word_stays_plain_text() {
    // Some libraries decode these words, and a line break comes out of the value.
    CPPUNIT_ASSERT(parse("GET / HTTP/1.1\r\nHost: x\r\nX-Id: =?utf-8?Q?a=0D=0AEvil:_1?=\r\n\r\n") ==
                   HeadState::Complete);
    CPPUNIT_ASSERT_EQUAL(std::string("=?utf-8?Q?a=0D=0AEvil:_1?="),
                         std::string(head_.header("X-Id").value()));
  }

  void malformed_heads_are_refused() {
    // Each of these is read in two ways by two real servers.
    for (const std::string& text :
         {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
          std::string("GET / HTTP/1.1\r\nHost : x\r\n\r\n"),
          std::string("GET / HTTP/1.1\r\n Host: x\r\n\r\n"),
          std::string("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
          std::string("GET / HTTP/1.1\nHost: x\n\n\r\n\r\n"), std::string("GET / HTTP/1.1\r\nHost x\r\n\r\n"),
          std::string("GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n"),
          std::string("GET a HTTP/1.1\r\nHost: x\r\n\r\n"),
          std::string("GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n"),
          std::string("GET /\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n"),
          std::string("GET / HTTP/1.1\r\nH\0st: x\r\n\r\n", 27)}) {
      CPPUNIT_ASSERT_MESSAGE(text, parse(text) == HeadState::Refused);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(text, 400, refusal_.status);
    }
    expect_refusal(505, "VERSION_NOT_SUPPORTED", "GET / HTTP/2.0\r\nHost: x\r\n\r\n");
    expect_refusal(417, "EXPECTATION_FAILED", post_with("Content-Length: 1\r\nExpect: a-miracle\r\n"));
  }

  void repeated_identity_headers_are_refused() {
    // A client's own X-User-Id beside the gateway's must not decide who asks.
    expect_refusal(400, "REPEATED_HEADER",
                   "GET / HTTP/1.1\r\nHost: x\r\nX-User-Id: me\r\nx-user-id: you\r\n\r\n");
    CPPUNIT_ASSERT(parse("GET / HTTP/1.1\r\nHost: x\r\nAccept: a\r\nAccept: b\r\n\r\n") ==
                   HeadState::Complete);
  }

  void sizes_are_bounded_and_the_bound_itself_is_allowed() {
    // Without bounds one client holds as much memory as it likes.
    const std::string before = "GET / HTTP/1.1\r\nHost: x\r\nA: ", after = "\r\n\r\n";
    const std::string fits =
        before + std::string(kLimits.max_head_bytes - before.size() - after.size(), 'a') + after;
    CPPUNIT_ASSERT(parse(fits) == HeadState::Complete);
    expect_refusal(431, "HEADERS_TOO_LARGE", before + std::string(kLimits.max_head_bytes, 'a'));
    expect_refusal(431, "HEADERS_TOO_LARGE", before + std::string(kLimits.max_head_bytes, 'a') + after);
    expect_refusal(414, "TARGET_TOO_LONG",
                   "GET /" + std::string(kLimits.max_target_bytes, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_refusal(414, "TARGET_TOO_LONG", "GET /" + std::string(kLimits.max_target_bytes + 100, 'a'));
    std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
    for (std::size_t i = 0; i < kMaxHeaders; ++i) many += "A: b\r\n";
    expect_refusal(431, "HEADERS_TOO_LARGE", many + "\r\n");
  }

  void every_beginning_of_a_good_head_is_incomplete() {
    // A head may come a byte at a time; no beginning of it may be judged wrong, or read past its end.
    const std::string text = post_with("Content-Length: 5\r\nX-User-Id: u\r\n");
    for (std::size_t size = 0; size < text.size(); ++size) {
      CPPUNIT_ASSERT(parse(text.substr(0, size)) == HeadState::Incomplete);
    }
    CPPUNIT_ASSERT(parse(text) == HeadState::Complete);
  }

  void nonsense_is_refused_before_a_line_ends() {
    // A TLS greeting, or a client that ends its lines otherwise, should not wait for the time-out.
    expect_refusal(400, "MALFORMED_REQUEST", "\x16\x03\x01\x02");
    expect_refusal(400, "MALFORMED_REQUEST", "GET / HTTP/1.1\n\n");
    expect_refusal(400, "MALFORMED_REQUEST", "\r\n");
  }

  void only_a_plain_1_1_request_keeps_the_connection() {
    // A client that waits for the end of the connection must get it.
    CPPUNIT_ASSERT(parse("GET / HTTP/1.0\r\n\r\n") == HeadState::Complete);
    CPPUNIT_ASSERT(!head_.keep_alive);
    CPPUNIT_ASSERT(parse("GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n") == HeadState::Complete);
    CPPUNIT_ASSERT(!head_.keep_alive);
  }

 private:
  static constexpr HeadLimits kLimits{1024, 256};

  HeadState parse(const std::string& text) { return parse_head(kept_ = text, kLimits, head_, refusal_); }

  void expect_refusal(int status, std::string_view code, const std::string& text) {
    CPPUNIT_ASSERT_MESSAGE(text, parse(text) == HeadState::Refused);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(text, std::string(code), std::string(refusal_.code));
    CPPUNIT_ASSERT_EQUAL_MESSAGE(text, status, refusal_.status);
  }

  static std::string post_with(const std::string& headers) {
    return "POST /api/orders HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
  }

  std::string kept_;  // what head_ views
  RequestHead head_;
  Refusal refusal_{};
};
CPPUNIT_TEST_SUITE_REGISTRATION(RequestHeadTest);

}  // namespace penstock::host::http
