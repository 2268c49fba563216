// Many clients at once, most of them doing nothing or nothing good.
#include "load/closed_loop.hpp"
#include "load/requests.hpp"

#include "penstock/testkit/wait_until.hpp"
#include "test_server.hpp"

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

namespace penstock::load {
namespace {

constexpr std::size_t kIdle = 5'000;
constexpr std::size_t kHalfSent = 500;

long from_status(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::strtol(line.c_str() + name.size() + 1, nullptr, 10);
  }
  return 0;
}

bool allow_descriptors(rlim_t wanted) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, std::max(wanted, limit.rlim_cur));
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur >= wanted;
}

// Connections that each hold one client and are asked one after the other, on a thread of their own.
class Crowd {
 public:
  Crowd(const Target& target, std::size_t size, std::string request)
      : loop_(target), request_(std::move(request)) {
    for (std::size_t i = 0; i < size; ++i)
      clients_.push_back(std::make_unique<Client>(loop_, Milliseconds(60'000)));
    for (auto& client : clients_) ask(*client);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Crowd() {
    loop_.stop();
    thread_.join();
  }
  std::size_t answered(int status) const { return status == 200 ? good_ : other_; }

 private:
  void ask(Client& client) {
    client.send(request_, [this](const Answer& answer) { ++(answer.status == 200 ? good_ : other_); });
  }

  Loop loop_;
  const std::string request_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::atomic<std::size_t> good_{0}, other_{0};
  std::thread thread_;
};

}  // namespace

class HttpCrowdTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HttpCrowdTest);
  CPPUNIT_TEST(thousands_of_idle_and_half_sent_connections_cost_no_thread_and_little_memory);
  CPPUNIT_TEST(five_thousand_busy_connections_see_no_time_out);
  CPPUNIT_TEST(overload_is_shed_and_goodput_is_kept);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    if (!allow_descriptors(2 * (kIdle + kHalfSent) + 500))
      CPPUNIT_FAIL("the limit of open files is too low for 11,500");
  }

  void thousands_of_idle_and_half_sent_connections_cost_no_thread_and_little_memory() {
    // Whoever opens connections and says nothing must not be able to take the service down.
    host::HttpServerSettings settings;
    settings.public_listener.header_timeout = Milliseconds(2'000);
    TestServer server(settings);
    serve(server);
    const long threads = from_status("Threads"), before = from_status("VmRSS");
    const Crowd idle(server.target(), kIdle, read_request("u", "1"));
    const Crowd half(server.target(), kHalfSent, "GET /api/orders/1 HTTP/1.1\r\nHost: x\r\nA: ");
    CPPUNIT_ASSERT(testkit::wait_until([&] { return idle.answered(200) == kIdle; }, Milliseconds(30'000)));
    CPPUNIT_ASSERT_EQUAL(threads + 2, from_status("Threads"));
    const long used = from_status("VmRSS") - before;
    std::cout << " [" << kIdle << " idle connections: " << used << " KiB for both ends] ";
    CPPUNIT_ASSERT(used < 50 * 1024);

    const auto busy = load(server, 50, Milliseconds(500));
    CPPUNIT_ASSERT(busy.answers(200) > 1'000 && busy.by_status.size() == 1);
    CPPUNIT_ASSERT(
        testkit::wait_until([&] { return half.answered(408) == kHalfSent; }, Milliseconds(30'000)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, idle.answered(408));
  }

  void five_thousand_busy_connections_see_no_time_out() {
    // Every one of them must be served, none starved by the others.
    TestServer server;
    serve(server);
    const long threads = from_status("Threads");
    const auto result = load(server, kIdle, Milliseconds(2'000));
    std::cout << " [" << kIdle << " busy connections: " << static_cast<long>(result.per_second(200))
              << " requests/s, p99 " << milliseconds(result.latency.at(.99)) << " ms] ";
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, result.by_status.size());
    CPPUNIT_ASSERT(result.answers(200) > kIdle);
    CPPUNIT_ASSERT_EQUAL(threads, from_status("Threads"));
  }

  void overload_is_shed_and_goodput_is_kept() {
    // What cannot be done in time is refused at once, so that the rest is still done.
    host::HttpServerSettings settings;
    settings.public_listener.max_in_flight = 100;
    TestServer server(settings);
    std::atomic<bool> over = false;
    std::mutex mutex;
    std::vector<HttpReply> waiting;
    server.add(HttpMethod::Get, "/api/orders/{no}", [&](const HttpRequest&, HttpReply reply) {
      const std::lock_guard lock(mutex);
      waiting.push_back(std::move(reply));
    });
    server.start();
    std::thread worker([&] {
      while (!over) {
        std::vector<HttpReply> batch;
        {
          const std::lock_guard lock(mutex);
          batch.swap(waiting);
        }
        for (auto& reply : batch) reply.send(json_response(200, "{}"));
        std::this_thread::yield();
      }
    });
    const auto result = load(server, 1'000, Milliseconds(1'000));
    server.drain(Milliseconds(0));  // its handlers use what ends here
    over = true;
    worker.join();
    CPPUNIT_ASSERT(result.answers(503) > 0);
    CPPUNIT_ASSERT(result.answers(200) > 1'000);
    CPPUNIT_ASSERT_EQUAL(result.latency.count(), result.answers(200) + result.answers(503));
  }

 private:
  static void serve(TestServer& server) {
    server.add(HttpMethod::Get, "/api/orders/{no}",
               [](auto&, HttpReply reply) { reply.send(json_response(200, "{}")); });
    server.start();
  }

  static ClosedLoopResult load(const TestServer& server, std::size_t connections, Milliseconds duration) {
    const std::string request = read_request("u", "1");
    return run_closed_loop(
        {server.target(), connections, Milliseconds(1'000), duration, Milliseconds(10'000)},
        [&](std::size_t) -> const std::string& { return request; }, [](bool) {});
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(HttpCrowdTest);

}  // namespace penstock::load
