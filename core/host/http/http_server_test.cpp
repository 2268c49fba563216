#include "host/http/http_server.hpp"
#include "host/http/raw_client.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace penstock::host::http {

using testkit::wait_until;

class HttpServerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HttpServerTest);
  CPPUNIT_TEST(an_answer_keeps_the_connection);
  CPPUNIT_TEST(a_reply_may_come_later_from_any_thread);
  CPPUNIT_TEST(pipelined_requests_are_answered_in_order);
  CPPUNIT_TEST(a_request_may_come_byte_by_byte);
  CPPUNIT_TEST(a_large_answer_arrives_whole);
  CPPUNIT_TEST(head_is_get_without_the_body);
  CPPUNIT_TEST(unknown_paths_and_methods_are_told_apart);
  CPPUNIT_TEST(routes_answer_503_until_the_server_is_open);
  CPPUNIT_TEST(hostile_framing_ends_the_connection_and_is_not_echoed);
  CPPUNIT_TEST(a_body_over_the_limit_is_refused_before_it_is_read);
  CPPUNIT_TEST(an_early_answer_never_reads_the_rest_as_a_request);
  CPPUNIT_TEST(more_bytes_than_said_are_the_next_request);
  CPPUNIT_TEST(a_client_that_asks_first_is_told_to_go_on);
  CPPUNIT_TEST(a_slow_head_is_cut_by_a_total_deadline);
  CPPUNIT_TEST(a_slow_body_is_cut);
  CPPUNIT_TEST(an_idle_connection_is_closed);
  CPPUNIT_TEST(a_client_that_does_not_read_is_cut);
  CPPUNIT_TEST(one_connection_too_many_gets_503);
  CPPUNIT_TEST(one_request_too_many_gets_503);
  CPPUNIT_TEST(a_dropped_reply_is_a_500_and_names_the_route);
  CPPUNIT_TEST(a_throwing_handler_is_a_500_and_names_the_route);
  CPPUNIT_TEST(a_response_that_cannot_be_sent_is_a_500);
  CPPUNIT_TEST(durations_are_counted_by_route_template);
  CPPUNIT_TEST(events_reach_the_client_and_heartbeats_fill_the_silence);
  CPPUNIT_TEST(a_stream_ends_when_its_holder_lets_go);
  CPPUNIT_TEST(a_stream_learns_that_its_client_has_gone);
  CPPUNIT_TEST(a_stream_client_that_does_not_read_is_closed);
  CPPUNIT_TEST(one_stream_too_many_gets_503);
  CPPUNIT_TEST(drain_answers_what_is_in_progress_and_closes_the_rest);
  CPPUNIT_TEST(drain_cuts_at_its_deadline_and_says_how_many);
  CPPUNIT_TEST(replies_and_streams_outlive_the_server);
  CPPUNIT_TEST(a_taken_port_is_named);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    settings_ = {};
    settings_.public_listener.header_timeout = Milliseconds(400);
    settings_.public_listener.body_timeout = Milliseconds(400);
    settings_.public_listener.stream_heartbeat = Milliseconds(200);
  }
  void tearDown() override {
    held_.clear();
    streams_.clear();
    server_.reset();
  }

  void an_answer_keeps_the_connection() {
    // A connection per request would cost more than the request.
    serve();
    RawClient client(port());
    for (int i = 0; i < 3; ++i) {
      const auto answer = client.ask(get("/echo/a%20b?q=1%2B1"));
      CPPUNIT_ASSERT_EQUAL(200, answer.status);
      CPPUNIT_ASSERT_EQUAL(std::string("a b|1+1|"), answer.body);
      CPPUNIT_ASSERT(!answer.has("Connection: close"));
      CPPUNIT_ASSERT(answer.has("Date: "));
    }
  }

  void a_reply_may_come_later_from_any_thread() {
    // This is how an order waits for its commit without holding a thread.
    serve();
    std::vector<RawClient> clients;
    for (int i = 0; i < 50; ++i) clients.emplace_back(port()).send(get("/hold"));
    CPPUNIT_ASSERT(wait_until([&] { return held_count() == 50; }));
    std::thread other([&] { answer_held(); });
    for (auto& client : clients) CPPUNIT_ASSERT_EQUAL(202, client.read_answer().status);
    other.join();
    CPPUNIT_ASSERT_EQUAL(200, clients[0].ask(get("/echo/x")).status);
  }

  void pipelined_requests_are_answered_in_order() {
    // HTTP has no other way to tell which answer belongs to which request.
    serve();
    RawClient client(port());
    client.send(get("/echo/1") + get("/hold") + get("/echo/2") + get("/hold") + get("/echo/3"));
    CPPUNIT_ASSERT_EQUAL(std::string("1||"), client.read_answer().body);
    for (const char* next : {"2||", "3||"}) {
      CPPUNIT_ASSERT(wait_until([&] { return held_count() == 1; }));
      answer_held();
      CPPUNIT_ASSERT_EQUAL(202, client.read_answer().status);
      CPPUNIT_ASSERT_EQUAL(std::string(next), client.read_answer().body);
    }
    std::string many;
    for (int i = 0; i < 5'000; ++i) many += get("/echo/" + std::to_string(i));
    std::thread sender([&] { client.send(many); });
    for (int i = 0; i < 5'000; ++i) CPPUNIT_ASSERT_EQUAL(std::to_string(i) + "||", client.read_answer().body);
    sender.join();
  }

  void a_request_may_come_byte_by_byte() {
    // Packets end where they like, also in the middle of a line end.
    settings_.public_listener.header_timeout = settings_.public_listener.body_timeout = Milliseconds(20'000);
    serve();
    RawClient client(port());
    for (int round = 0; round < 2; ++round) {
      for (const char byte : post("/echo/x", "hello")) CPPUNIT_ASSERT(client.send(std::string(1, byte)));
      CPPUNIT_ASSERT_EQUAL(std::string("x||hello"), client.read_answer().body);
    }
  }

  void a_large_answer_arrives_whole() {
    // More than the socket takes at once has to wait for the client without losing its place.
    serve();
    RawClient client(port());
    client.send(get("/large") + get("/echo/after"));
    const auto answer = client.read_answer();
    CPPUNIT_ASSERT_EQUAL(kLarge, answer.body.size());
    CPPUNIT_ASSERT(answer.body.find_first_not_of('x') == std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("after||"), client.read_answer().body);
  }

  void head_is_get_without_the_body() {
    // Probes and caches use it; a body after it would be read as the next answer.
    serve();
    RawClient client(port());
    client.send("HEAD /echo/x HTTP/1.1\r\nHost: x\r\n\r\n" + get("/echo/y"));
    CPPUNIT_ASSERT(client.read_until("\r\n\r\n").find("Content-Length: 3\r\n\r\nHTTP/1.1 200") !=
                   std::string::npos);
  }

  void unknown_paths_and_methods_are_told_apart() {
    // 405 tells a client that it has the right place and the wrong verb.
    serve();
    RawClient client(port());
    const auto unknown = client.ask(get("/nowhere"));
    CPPUNIT_ASSERT_EQUAL(404, unknown.status);
    CPPUNIT_ASSERT(unknown.has("Content-Type: application/problem+json"));
    CPPUNIT_ASSERT(unknown.body.find("\"code\":\"NOT_FOUND\"") != std::string::npos);
    const auto wrong = client.ask("DELETE /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    CPPUNIT_ASSERT_EQUAL(405, wrong.status);
    CPPUNIT_ASSERT(wrong.has("Allow: GET, HEAD\r\n"));
    CPPUNIT_ASSERT_EQUAL(400, client.ask(get("/echo/%zz")).status);
    CPPUNIT_ASSERT_EQUAL(404, RawClient(server_->port(HttpListener::Operator)).ask(get("/hold")).status);
  }

  void routes_answer_503_until_the_server_is_open() {
    // A request must not reach a plugin whose neighbours have not started; health must be answered.
    serve(false);
    RawClient client(port()), health(server_->port(HttpListener::Operator));
    const auto early = client.ask(get("/echo/x"));
    CPPUNIT_ASSERT_EQUAL(503, early.status);
    CPPUNIT_ASSERT(early.has("Retry-After: "));
    CPPUNIT_ASSERT_EQUAL(503, client.ask(get("/not/yet/registered")).status);
    CPPUNIT_ASSERT_EQUAL(200, health.ask(get("/health/live")).status);
    CPPUNIT_ASSERT_EQUAL(503, health.ask(get("/admin")).status);
    server_->open();
    CPPUNIT_ASSERT_EQUAL(200, client.ask(get("/echo/x")).status);
    CPPUNIT_ASSERT_EQUAL(200, health.ask(get("/admin")).status);
  }

  void hostile_framing_ends_the_connection_and_is_not_echoed() {
    // After any of these nobody knows where the next request begins.
    serve();
    const std::pair<int, std::string> cases[]{
        {400,
         "POST /echo/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: "
         "chunked\r\n\r\n0\r\n\r\nEVIL"},
        {400, "POST /echo/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nEVIL"},
        {411, "POST /echo/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nEVIL\r\n0\r\n\r\n"},
        {411, "POST /echo/x HTTP/1.1\r\nHost: x\r\n\r\nEVIL"},
        {400, "GET /echo/x HTTP/1.1\r\nHost: x\r\nA: EVIL\r\n EVIL\r\n\r\n"},
        {400, "GET /echo/x HTTP/1.1\r\nHost: x\r\nA: EVIL\x01\r\n\r\n"},
        {400, "GET /echo/x HTTP/1.1\r\nHost: x\r\nA: EVIL\xc3\xa9\r\n\r\n"},
        {400, "EVIL\r\n\r\n"},
        {414, "GET /EVIL" + std::string(4'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"},
        {431, "GET / HTTP/1.1\r\nHost: x\r\nA: EVIL" + std::string(20'000, 'a') + "\r\n\r\n"},
    };
    for (const auto& [status, text] : cases) {
      RawClient client(port());
      const auto answer = client.ask(text);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(text, status, answer.status);
      CPPUNIT_ASSERT_MESSAGE(text, answer.has("Connection: close") && answer.has("application/problem+json"));
      CPPUNIT_ASSERT_MESSAGE(text, (answer.head + answer.body).find("EVIL") == std::string::npos);
      CPPUNIT_ASSERT_MESSAGE(text, client.sees_end());
    }
    CPPUNIT_ASSERT(!logger_.contains("EVIL"));
    CPPUNIT_ASSERT_EQUAL(
        double(std::size(cases)),
        metrics_.value("penstock_http_refused_total{listener=\"http.public\",reason=\"malformed\"}"));
  }

  void a_body_over_the_limit_is_refused_before_it_is_read() {
    // The client would otherwise choose how much memory the server holds.
    serve();
    RawClient client(port());
    const auto answer =
        client.ask("POST /echo/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc");
    CPPUNIT_ASSERT_EQUAL(413, answer.status);
    CPPUNIT_ASSERT(answer.has("Connection: close"));
    CPPUNIT_ASSERT(client.sees_end());
    CPPUNIT_ASSERT_EQUAL(200, RawClient(port()).ask(post("/echo/x", std::string(64 * 1024, 'a'))).status);
    CPPUNIT_ASSERT_EQUAL(413, RawClient(port()).ask(post("/echo/x", std::string(64 * 1024 + 1, 'a'))).status);
  }

  void an_early_answer_never_reads_the_rest_as_a_request() {
    // A body that was not read becomes a request of the attacker's choice on a shared connection.
    serve();
    RawClient unread(port());
    const std::string smuggled = get("/echo/smuggled");
    const auto answer = unread.ask("POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                                   std::to_string(smuggled.size() + 1) + "\r\n\r\n" + smuggled);
    CPPUNIT_ASSERT_EQUAL(404, answer.status);
    CPPUNIT_ASSERT(unread.sees_end());
    RawClient whole(port());
    whole.send(post("/nowhere", smuggled) + get("/echo/next"));
    CPPUNIT_ASSERT_EQUAL(404, whole.read_answer().status);
    CPPUNIT_ASSERT_EQUAL(std::string("next||"), whole.read_answer().body);
  }

  void more_bytes_than_said_are_the_next_request() {
    // Content-Length alone says where a body ends; what follows is judged as a request of its own.
    serve();
    RawClient client(port());
    client.send("POST /echo/x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab{\"more\":1}\r\n\r\n");
    CPPUNIT_ASSERT_EQUAL(std::string("x||ab"), client.read_answer().body);
    CPPUNIT_ASSERT_EQUAL(400, client.read_answer().status);
    CPPUNIT_ASSERT(client.sees_end());
  }

  void a_client_that_asks_first_is_told_to_go_on() {
    // Without it curl waits a second before each larger body.
    serve();
    RawClient client(port());
    client.send("POST /echo/x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    CPPUNIT_ASSERT_EQUAL(100, client.read_answer().status);
    CPPUNIT_ASSERT_EQUAL(std::string("x||ab"), client.ask("ab").body);
  }

  void a_slow_head_is_cut_by_a_total_deadline() {
    // A byte now and then must not keep a connection: a deadline per byte never ends.
    serve();
    RawClient client(port());
    client.send("GET / HTTP/1.1\r\nA: ");
    std::atomic<bool> done = false;
    std::thread drip(
        [&] { testkit::wait_until([&] { return !client.send("a") || done; }, Milliseconds(5'000)); });
    const auto answer = client.read_answer();
    done = true;
    drip.join();
    CPPUNIT_ASSERT_EQUAL(408, answer.status);
    CPPUNIT_ASSERT(client.sees_end());
  }

  void a_slow_body_is_cut() {
    // The same for a client that announces a body and does not send it.
    serve();
    RawClient client(port());
    const auto answer = client.ask("POST /echo/x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    CPPUNIT_ASSERT_EQUAL(408, answer.status);
    CPPUNIT_ASSERT(client.sees_end());
  }

  void an_idle_connection_is_closed() {
    // Clients forget connections; the server must not keep them for ever. Nothing was asked, so nothing
    // is answered.
    settings_.public_listener.idle_timeout = Milliseconds(300);
    serve();
    RawClient client(port()), silent(port());
    CPPUNIT_ASSERT_EQUAL(200, client.ask(get("/echo/x")).status);
    CPPUNIT_ASSERT(client.sees_end());
    CPPUNIT_ASSERT(silent.sees_end());
  }

  void a_client_that_does_not_read_is_cut() {
    // Its answers would pile up in memory.
    settings_.public_listener.write_timeout = Milliseconds(300);
    serve();
    RawClient client(port());
    for (int i = 0; i < 4; ++i) client.send(get("/large"));
    CPPUNIT_ASSERT(wait_until([&] {
      return metrics_.value("penstock_http_refused_total{listener=\"http.public\",reason=\"timed_out\"}") ==
             1;
    }));
  }

  void one_connection_too_many_gets_503() {
    // A client that is told can come back; one that is left in the backlog only times out.
    settings_.public_listener.max_connections = 2;
    serve();
    RawClient first(port()), second(port());
    CPPUNIT_ASSERT_EQUAL(200, first.ask(get("/echo/x")).status);
    CPPUNIT_ASSERT_EQUAL(200, second.ask(get("/echo/x")).status);
    RawClient third(port());
    const auto answer = third.read_answer();
    CPPUNIT_ASSERT_EQUAL(503, answer.status);
    CPPUNIT_ASSERT(answer.has("Retry-After: ") && answer.has("Connection: close"));
    CPPUNIT_ASSERT(third.sees_end());
    third.hang_up();
    first.hang_up();
    CPPUNIT_ASSERT(wait_until([&] { return RawClient(port()).ask(get("/echo/x")).status == 200; }));
  }

  void one_request_too_many_gets_503() {
    // What waits behind a slow dependency is bounded, whatever the number of connections.
    settings_.public_listener.max_in_flight = 1;
    serve();
    RawClient first(port()), second(port());
    first.send(get("/hold"));
    CPPUNIT_ASSERT(wait_until([&] { return held_count() == 1; }));
    const auto answer = second.ask(get("/echo/x"));
    CPPUNIT_ASSERT_EQUAL(503, answer.status);
    CPPUNIT_ASSERT(answer.has("Retry-After: "));
    answer_held();
    CPPUNIT_ASSERT_EQUAL(202, first.read_answer().status);
    CPPUNIT_ASSERT_EQUAL(200, second.ask(get("/echo/x")).status);
  }

  void a_dropped_reply_is_a_500_and_names_the_route() {
    // The client must not wait for ever, and someone has to find the handler.
    serve();
    RawClient client(port());
    CPPUNIT_ASSERT_EQUAL(500, client.ask(get("/drop/secret")).status);
    CPPUNIT_ASSERT(logger_.contains("http_reply_dropped"));
    CPPUNIT_ASSERT(logger_.contains("/drop/{x}"));
    CPPUNIT_ASSERT(!logger_.contains("secret"));
    client.send(get("/hold"));
    CPPUNIT_ASSERT(wait_until([&] { return held_count() == 1; }));
    take_held();
    CPPUNIT_ASSERT_EQUAL(500, client.read_answer().status);
  }

  void a_throwing_handler_is_a_500_and_names_the_route() {
    // One defect in a plugin must not end the process, nor the connection.
    serve();
    RawClient client(port());
    CPPUNIT_ASSERT_EQUAL(500, client.ask(get("/throw")).status);
    CPPUNIT_ASSERT(logger_.contains("http_handler_failed"));
    CPPUNIT_ASSERT(logger_.contains("/throw"));
    CPPUNIT_ASSERT_EQUAL(200, client.ask(get("/echo/x")).status);
  }

  void a_response_that_cannot_be_sent_is_a_500() {
    // A client's bytes in a response header would otherwise become headers.
    serve();
    RawClient client(port());
    const auto answer = client.ask(get("/bad-header"));
    CPPUNIT_ASSERT_EQUAL(500, answer.status);
    CPPUNIT_ASSERT(!answer.has("Evil"));
  }

  void durations_are_counted_by_route_template() {
    // A label with an order number in it makes a new series per order.
    serve();
    RawClient client(port());
    client.ask(get("/echo/1"));
    client.ask(get("/echo/2"));
    client.ask(get("/nowhere"));
    const std::string name = "penstock_http_request_duration_seconds";
    CPPUNIT_ASSERT_EQUAL(2., metrics_.value(name + "{code=\"200\",method=\"GET\",route=\"/echo/{x}\"}") +
                                 metrics_.value(name + "{route=\"/echo/{x}\",method=\"GET\",code=\"200\"}"));
    CPPUNIT_ASSERT_EQUAL(1., metrics_.value(name + "{code=\"404\",method=\"GET\",route=\"none\"}") +
                                 metrics_.value(name + "{route=\"none\",method=\"GET\",code=\"404\"}"));
  }

  void events_reach_the_client_and_heartbeats_fill_the_silence() {
    // Proxies cut a connection on which nothing moves.
    serve();
    RawClient client(port());
    client.send(get("/events"));
    CPPUNIT_ASSERT(wait_until([&] { return stream_count() == 1; }));
    CPPUNIT_ASSERT(stream(0)->send_event("1", "state", "{\"a\":1}"));
    const auto answer = client.read_answer();
    CPPUNIT_ASSERT_EQUAL(200, answer.status);
    CPPUNIT_ASSERT(answer.has("text/event-stream"));
    CPPUNIT_ASSERT(client.read_until("\n:\n\n").find("id: 1\nevent: state\ndata: {\"a\":1}\n\n:\n\n") !=
                   std::string::npos);
  }

  void a_stream_ends_when_its_holder_lets_go() {
    // Else a plugin that forgets a stream leaks the connection.
    serve();
    RawClient client(port());
    client.send(get("/events"));
    CPPUNIT_ASSERT(wait_until([&] { return stream_count() == 1; }));
    stream(0)->send_event("1", "last", "x");
    drop_streams();
    CPPUNIT_ASSERT_EQUAL(200, client.read_answer().status);
    const std::string text = client.read_until("never sent");
    CPPUNIT_ASSERT(text.find("event: last") != std::string::npos);
  }

  void a_stream_learns_that_its_client_has_gone() {
    // Its holder has to stop following the order.
    serve();
    RawClient client(port());
    client.send(get("/events"));
    CPPUNIT_ASSERT(wait_until([&] { return stream_count() == 1; }));
    CPPUNIT_ASSERT_EQUAL(200, client.read_answer().status);
    client.hang_up();
    CPPUNIT_ASSERT(wait_until([&] { return !stream(0)->open(); }));
    CPPUNIT_ASSERT(!stream(0)->send_event("1", "x", "y"));
  }

  void a_stream_client_that_does_not_read_is_closed() {
    // One slow reader must not hold everybody's events in memory.
    serve();
    RawClient client(port());
    client.send(get("/events"));
    CPPUNIT_ASSERT(wait_until([&] { return stream_count() == 1; }));
    const std::string data(8 * 1024, 'x');
    CPPUNIT_ASSERT(wait_until([&] {
      for (int i = 0; i < 4; ++i) stream(0)->send_event("1", "x", data);
      return !stream(0)->open();
    }));
  }

  void one_stream_too_many_gets_503() {
    // Streams live long, so their number needs a bound of its own.
    settings_.public_listener.max_streams = 1;
    serve();
    RawClient first(port()), second(port());
    first.send(get("/events"));
    CPPUNIT_ASSERT_EQUAL(200, first.read_answer().status);
    const auto answer = second.ask(get("/events"));
    CPPUNIT_ASSERT_EQUAL(503, answer.status);
    CPPUNIT_ASSERT(answer.has("Retry-After: "));
    first.hang_up();
    CPPUNIT_ASSERT(wait_until([&] { return RawClient(port()).ask(get("/events")).status == 200; }));
  }

  void drain_answers_what_is_in_progress_and_closes_the_rest() {
    // A restart must not lose the answer to an order that was accepted.
    serve();
    RawClient busy(port()), idle(port()), streaming(port());
    CPPUNIT_ASSERT_EQUAL(200, idle.ask(get("/echo/x")).status);
    busy.send(get("/hold"));
    streaming.send(get("/events"));
    CPPUNIT_ASSERT(wait_until([&] { return held_count() == 1 && stream_count() == 1; }));
    std::size_t cut = 1;
    std::thread drainer(
        [&] { cut = server_->drain(std::chrono::steady_clock::now() + std::chrono::seconds(20)); });
    CPPUNIT_ASSERT(idle.sees_end());
    streaming.read_answer();
    CPPUNIT_ASSERT(streaming.sees_end());
    CPPUNIT_ASSERT_THROW(RawClient(port()).ask(get("/echo/x")), std::runtime_error);
    answer_held();
    const auto answer = busy.read_answer();
    CPPUNIT_ASSERT_EQUAL(202, answer.status);
    CPPUNIT_ASSERT(answer.has("Connection: close"));
    busy.hang_up();
    streaming.hang_up();
    idle.hang_up();
    drainer.join();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, cut);
  }

  void drain_cuts_at_its_deadline_and_says_how_many() {
    // A handler that never answers must not hold the process.
    serve();
    RawClient busy(port());
    busy.send(get("/hold"));
    CPPUNIT_ASSERT(wait_until([&] { return held_count() == 1; }));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1},
                         server_->drain(std::chrono::steady_clock::now() + Milliseconds(300)));
    CPPUNIT_ASSERT_EQUAL(0, busy.read_answer().status);
  }

  void replies_and_streams_outlive_the_server() {
    // Plugins stop after the listeners and may still hold some.
    serve();
    RawClient busy(port()), streaming(port());
    busy.send(get("/hold"));
    streaming.send(get("/events"));
    CPPUNIT_ASSERT(wait_until([&] { return held_count() == 1 && stream_count() == 1; }));
    server_.reset();
    answer_held();
    CPPUNIT_ASSERT(!stream(0)->send_event("1", "x", "y"));
    drop_streams();
  }

  void a_taken_port_is_named() {
    // The operator needs host, port and key to do something about it.
    serve();
    HttpServerSettings settings;
    settings.operator_listener.port = port();
    HttpServer other(settings, logger_, metrics_);
    const auto started = other.start();
    CPPUNIT_ASSERT(!started);
    CPPUNIT_ASSERT(started.error().code == ErrorCode::Unavailable);
    for (const std::string& part :
         {"127.0.0.1:" + std::to_string(port()), std::string("http.operator.port")}) {
      CPPUNIT_ASSERT_MESSAGE(started.error().message,
                             started.error().message.find(part) != std::string::npos);
    }
  }

 private:
  static constexpr std::size_t kLarge = 16 * 1024 * 1024;

  static std::string get(const std::string& target) {
    return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  static std::string post(const std::string& target, const std::string& body) {
    return "POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }

  void serve(bool open = true) {
    server_ = std::make_unique<HttpServer>(settings_, logger_, metrics_);
    add_routes();
    const auto started = server_->start();
    CPPUNIT_ASSERT_MESSAGE(started ? "" : started.error().message, started.ok());
    if (open) server_->open();
  }

  void add_routes() {
    const auto echo = [](const HttpRequest& request, HttpReply reply) {
      reply.send(text(200, std::string(request.param("x")) + "|" + request.query("q").value_or("") + "|" +
                               std::string(request.body())));
    };
    const auto hold = [this](const HttpRequest&, HttpReply reply) {
      const std::lock_guard lock(mutex_);
      held_.push_back(std::move(reply));
    };
    const auto events = [this](const HttpRequest&, HttpReply reply) {
      if (auto stream = reply.stream()) {
        const std::lock_guard lock(mutex_);
        streams_.push_back(std::move(stream));
      }
    };
    add(HttpMethod::Get, "/echo/{x}", echo);
    add(HttpMethod::Post, "/echo/{x}", echo);
    add(HttpMethod::Get, "/hold", hold);
    add(HttpMethod::Get, "/events", events);
    add(HttpMethod::Get, "/large",
        [](auto&, HttpReply reply) { reply.send(text(200, std::string(kLarge, 'x'))); });
    add(HttpMethod::Get, "/drop/{x}", [](auto&, HttpReply) {});
    add(HttpMethod::Get, "/throw", [](auto&, HttpReply) { throw std::runtime_error("a defect"); });
    add(HttpMethod::Get, "/bad-header", [](auto&, HttpReply reply) {
      auto response = text(200, "");
      response.headers.emplace_back("Location", "a\r\nEvil: 1");
      reply.send(std::move(response));
    });
    const auto ok = [](const HttpRequest&, HttpReply reply) { reply.send(text(200, "ok")); };
    add(HttpMethod::Get, "/health/live", ok, HttpListener::Operator);
    add(HttpMethod::Get, "/admin", ok, HttpListener::Operator);
  }

  void add(HttpMethod method, std::string path, HttpHandler handler,
           HttpListener listener = HttpListener::Public) {
    server_->add({listener, method, std::move(path), 64 * 1024, std::move(handler)});
  }

  static HttpResponse text(int status, std::string body) {
    HttpResponse response;
    response.status = status;
    response.content_type = "text/plain";
    response.body = std::move(body);
    return response;
  }

  std::uint16_t port() const { return server_->port(HttpListener::Public); }

  std::size_t held_count() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  std::vector<HttpReply> take_held() {
    const std::lock_guard lock(mutex_);
    return std::exchange(held_, {});
  }
  void answer_held() {
    for (auto& reply : take_held()) reply.send(text(202, "later"));
  }
  std::size_t stream_count() {
    const std::lock_guard lock(mutex_);
    return streams_.size();
  }
  std::shared_ptr<HttpStream> stream(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return streams_.at(index);
  }
  void drop_streams() {
    const std::lock_guard lock(mutex_);
    streams_.clear();
  }

  testkit::RecordingLogger logger_;
  testkit::RecordingMetrics metrics_;
  HttpServerSettings settings_;
  std::mutex mutex_;
  std::vector<HttpReply> held_;
  std::vector<std::shared_ptr<HttpStream>> streams_;
  std::unique_ptr<HttpServer> server_;
};
CPPUNIT_TEST_SUITE_REGISTRATION(HttpServerTest);

}  // namespace penstock::host::http
