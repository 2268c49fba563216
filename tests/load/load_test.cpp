#include "load/client_pool.hpp"
#include "load/closed_loop.hpp"
#include "load/latency.hpp"
#include "load/requests.hpp"

#include "penstock/testkit/wait_until.hpp"
#include "test_server.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

namespace penstock::load {

class LoadTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LoadTest);
  CPPUNIT_TEST(quantiles_are_within_two_percent);
  CPPUNIT_TEST(addresses_are_checked);
  CPPUNIT_TEST(every_connection_of_a_closed_loop_is_answered);
  CPPUNIT_TEST(a_server_that_is_away_is_told_from_one_that_is_lost);
  CPPUNIT_TEST(a_server_that_does_not_answer_is_timed_out);
  CPPUNIT_TEST(a_closed_connection_is_opened_again);
  CPPUNIT_TEST(a_pool_serves_more_callers_than_connections);
  CPPUNIT_TEST(a_large_answer_is_read_whole);
  CPPUNIT_TEST_SUITE_END();

 public:
  void quantiles_are_within_two_percent() {
    // The figures of the benchmark are read from here.
    Latency latency;
    CPPUNIT_ASSERT(latency.at(.5) == Nanoseconds(0));
    for (int i = 1; i <= 10'000; ++i) latency.add(std::chrono::microseconds(i));
    for (const double quantile : {.01, .5, .99, 1.}) {
      CPPUNIT_ASSERT_DOUBLES_EQUAL(quantile * 10, milliseconds(latency.at(quantile)), quantile * 10 * .02);
    }
    Latency other;
    other.add(std::chrono::hours(1));
    latency.merge(other);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{10'001}, latency.count());
    CPPUNIT_ASSERT_DOUBLES_EQUAL(3.6e6, milliseconds(latency.at(1)), 3.6e6 * .02);
  }

  void addresses_are_checked() {
    // A mistyped address must not send the load somewhere else.
    CPPUNIT_ASSERT_EQUAL(std::string("127.0.0.1:8080"), Target::parse("http://localhost:8080/").name());
    for (const char* wrong :
         {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "shop:80", ":80"}) {
      CPPUNIT_ASSERT_THROW_MESSAGE(wrong, Target::parse(wrong), std::invalid_argument);
    }
  }

  void every_connection_of_a_closed_loop_is_answered() {
    // A connection that is forgotten makes the server look slower than it is.
    serve_ok();
    const std::string request = read_request("u", "1");
    std::vector<int> asked(200);
    int marks = 0;
    const auto result = run_closed_loop(
        {server_.target(), asked.size(), Milliseconds(50), Milliseconds(300), Milliseconds(5'000)},
        [&](std::size_t i) -> const std::string& { return ++asked[i], request; }, [&](bool) { ++marks; });
    CPPUNIT_ASSERT_EQUAL(2, marks);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, result.by_status.size());
    CPPUNIT_ASSERT(result.answers(200) > 0 && result.latency.count() == result.answers(200));
    for (const int times : asked) CPPUNIT_ASSERT(times > 1);
  }

  void a_server_that_is_away_is_told_from_one_that_is_lost() {
    // Refused means that nothing was sent; lost means that nobody knows.
    std::atomic<bool> asked = false;
    server_.add(HttpMethod::Get, "/api/orders/{no}", [&](const HttpRequest&, HttpReply reply) {
      held_ = std::make_unique<HttpReply>(std::move(reply));
      asked = true;
    });
    server_.start();
    std::thread cutter([&] {
      if (testkit::wait_until([&] { return asked.load(); })) server_.drain(Milliseconds(0));
    });
    const auto first = ask_once();
    cutter.join();
    CPPUNIT_ASSERT(first.failure == Failure::Lost);
    CPPUNIT_ASSERT(ask_once().failure == Failure::Refused);
  }

  void a_server_that_does_not_answer_is_timed_out() {
    // A stopped process holds its connections open for ever.
    server_.add(HttpMethod::Get, "/api/orders/{no}", [this](const HttpRequest&, HttpReply reply) {
      held_ = std::make_unique<HttpReply>(std::move(reply));
    });
    server_.start();
    CPPUNIT_ASSERT(ask_once(Milliseconds(200)).failure == Failure::TimedOut);
  }

  void a_closed_connection_is_opened_again() {
    // Servers close idle connections; the buyer must not notice.
    host::HttpServerSettings settings;
    settings.public_listener.idle_timeout = Milliseconds(100);
    TestServer server(settings);
    server.add(HttpMethod::Get, "/api/orders/{no}",
               [](auto&, HttpReply reply) { reply.send(json_response(200, "{}")); });
    server.start();
    Loop loop(server.target());
    Client client(loop, Milliseconds(5'000));
    std::vector<int> statuses;
    std::function<void()> await_close = [&] {
      if (client.connected()) return loop.after(Milliseconds(10), await_close);
      client.send(read_request("u", "1"), [&](const Answer& answer) {
        statuses.push_back(answer.status);
        loop.stop();
      });
    };
    client.send(read_request("u", "1"), [&](const Answer& answer) {
      statuses.push_back(answer.status);
      loop.after(Milliseconds(10), await_close);
    });
    loop.run();
    CPPUNIT_ASSERT(statuses == (std::vector<int>{200, 200}));
  }

  void a_pool_serves_more_callers_than_connections() {
    // Buyers wait in line rather than fail when all connections are taken.
    serve_ok();
    Loop loop(server_.target());
    ClientPool pool(loop, 3, Milliseconds(5'000));
    int answered = 0;
    for (int i = 0; i < 100; ++i) {
      pool.send(read_request("u", "1"), [&](const Answer& answer) {
        CPPUNIT_ASSERT_EQUAL(200, answer.status);
        if (++answered == 100) loop.stop();
      });
    }
    loop.run();
    CPPUNIT_ASSERT_EQUAL(100, answered);
  }

  void a_large_answer_is_read_whole() {
    // An answer that comes in pieces must be put together at the right places.
    const std::string large(3 * 1024 * 1024, 'x');
    server_.add(HttpMethod::Get, "/api/orders/{no}",
                [&](auto&, HttpReply reply) { reply.send(json_response(200, large)); });
    server_.start();
    Loop loop(server_.target());
    Client client(loop, Milliseconds(5'000));
    bool equal = false;
    client.send(read_request("u", "1"), [&](const Answer& answer) {
      equal = answer.body == large;
      loop.stop();
    });
    loop.run();
    CPPUNIT_ASSERT(equal);
  }

 private:
  void serve_ok() {
    server_.add(HttpMethod::Get, "/api/orders/{no}",
                [](auto&, HttpReply reply) { reply.send(json_response(200, "{}")); });
    server_.start();
  }

  Answer ask_once(Milliseconds limit = Milliseconds(5'000)) {
    Loop loop(server_.target());
    Client client(loop, limit);
    Answer answer;
    client.send(read_request("u", "1"), [&](const Answer& got) {
      answer.status = got.status;
      answer.failure = got.failure;
      loop.stop();
    });
    loop.run();
    return answer;
  }

  std::unique_ptr<HttpReply> held_;
  TestServer server_;
};
CPPUNIT_TEST_SUITE_REGISTRATION(LoadTest);

}  // namespace penstock::load
