#include "load/bench/embedded_bench.hpp"

#include "load/bench/bench_server.hpp"
#include "load/bench/commit_probe.hpp"
#include "load/bench/order_source.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace penstock::load {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Milliseconds kWarmUp{1'000};
constexpr Milliseconds kDrainWithin{60'000};
constexpr int kSoldOutRounds = 8;
constexpr const char* kLocked = "penstock_consumed_total{consumer=\"lock\",outcome=\"done\"}";

// Every bound that lets one commit carry more than one order.
const std::vector<std::string> kOneByOne{"order_intake.accept_max_batch=1", "order_intake.query_max_batch=1",
                                         "outbox_publisher.max_batch=1", "order_consumer.max_batch=1",
                                         "timeout_release.max_batch=1"};

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

// What one strategy came to under load.
struct Throughput {
  double accepted_per_second = 0;
  double settled_while_loaded = 0;  // orders to WAITING_PAY per second, while orders came in
  double settled_per_second = 0;    // the same, until all accepted ones were there
  double server_cpu_per_1000 = 0;
  double tool_cpu_per_1000 = 0;
  double p50_ms = 0, p99_ms = 0;
  std::uint64_t unanswered = 0;
};

class Bench {
 public:
  explicit Bench(const EmbeddedBenchSettings& settings) : settings_(settings) {}

  BenchReport run() {
    std::filesystem::create_directories(settings_.directory);
    const Throughput single = measure_one_by_one();
    BenchServer server({settings_.config, settings_.directory / "pipeline", {}});
    measure_one_buyer(server);
    const Throughput pipeline = measure_orders(server, settings_.connections, "p");
    report_strategies(single, pipeline);
    measure_sold_out(server);
    measure_many_connections(server);
    say("checking the books and stopping");
    if (!server.books_balance()) throw std::runtime_error("the books do not balance after the benchmark");
    server.stop();
    return std::move(report_);
  }

 private:
  static void say(const std::string& what) { std::fprintf(stderr, "bench: %s\n", what.c_str()); }

  Throughput measure_one_by_one() {
    BenchServer server({settings_.config, settings_.directory / "one-by-one", kOneByOne});
    say("one transaction per order, " + std::to_string(settings_.connections) + " connections");
    const Throughput result = measure_orders(server, settings_.connections, "s");
    server.stop();
    return result;
  }

  // Orders from `connections` buyers at once, then waits until the last accepted one has its stock.
  Throughput measure_orders(BenchServer& server, std::size_t connections, const std::string& run) {
    say("orders, " + std::to_string(connections) + " connections");
    OrderSource orders(kPlentiful, run);
    const double locked_before = server.metric(kLocked);
    const double server_cpu = server.usage().cpu_seconds, tool_cpu = own_cpu_seconds();
    const double accepted_before = accepted(server);
    double locked_from = 0, locked_to = 0;
    const auto began = Clock::now();
    const auto load = run_closed_loop(
        {server.target(), connections, kWarmUp, settings_.duration, kLimit},
        [&](std::size_t) -> const std::string& { return orders.next(); },
        [&](bool over) { (over ? locked_to : locked_from) = server.metric(kLocked); });
    const double tool_used = own_cpu_seconds() - tool_cpu;
    const double total = await_settled(server, locked_before, accepted_before);
    const double settled = server.metric(kLocked) - locked_before;

    Throughput result;
    result.accepted_per_second = load.per_second(202);
    result.settled_while_loaded = (locked_to - locked_from) / load.seconds;
    result.settled_per_second = settled / seconds_since(began);
    result.server_cpu_per_1000 = (server.usage().cpu_seconds - server_cpu) / total * 1'000;
    result.tool_cpu_per_1000 = tool_used / total * 1'000;
    result.p50_ms = milliseconds(load.latency.at(.5));
    result.p99_ms = milliseconds(load.latency.at(.99));
    result.unanswered = load.answers(0);
    return result;
  }

  static double accepted(const BenchServer& server) {
    return server.metric("penstock_accepts_total{outcome=\"accepted\"}");
  }

  // Returns how many orders were accepted since `accepted_before`.
  static double await_settled(const BenchServer& server, double locked_before, double accepted_before) {
    const auto deadline = Clock::now() + kDrainWithin;
    double total = 0;
    do {
      std::this_thread::sleep_for(Milliseconds(20));
      total = accepted(server) - accepted_before;
    } while (server.metric(kLocked) - locked_before < total && Clock::now() < deadline);
    return std::max(total, 1.);
  }

  void report_strategies(const Throughput& single, const Throughput& pipeline) {
    report_strategy("one transaction per order", single);
    report_strategy("pipeline", pipeline);
    ratio("accepted orders per second, pipeline : one transaction per order",
          pipeline.accepted_per_second / single.accepted_per_second, 10);
    report_.ratios.push_back({"orders to WAITING_PAY per second, pipeline : one transaction per order",
                              pipeline.settled_per_second / single.settled_per_second, 1, true});
  }

  void report_strategy(const std::string& name, const Throughput& result) {
    figure(name + ": accepted", result.accepted_per_second, "orders/s");
    figure(name + ": to WAITING_PAY while orders come in", result.settled_while_loaded, "orders/s");
    figure(name + ": to WAITING_PAY until all are there", result.settled_per_second, "orders/s");
    figure(name + ": accept p50", result.p50_ms, "ms");
    figure(name + ": accept p99", result.p99_ms, "ms");
    figure(name + ": server CPU per 1,000 orders", result.server_cpu_per_1000, "s");
    figure(name + ": load tool CPU per 1,000 orders", result.tool_cpu_per_1000, "s");
    if (result.unanswered > 0)
      figure(name + ": unanswered", static_cast<double>(result.unanswered), "requests");
  }

  // Alternates between the two, so that both see the same neighbours on the machine.
  void measure_sold_out(BenchServer& server) {
    say("sold out against a trivial handler");
    const auto sold = fetch(server.target(), order_request({"first", "first", kScarce, 1}));
    if (sold.status != 202) throw std::runtime_error("the scarce product could not be bought: " + sold.body);
    OrderSource orders(kScarce, "x");
    const std::string trivial = trivial_request(orders.next());
    const NextRequest next_order = [&](std::size_t) -> const std::string& { return orders.next(); };
    const NextRequest next_trivial = [&](std::size_t) -> const std::string& { return trivial; };
    Answers sold_out, nothing;
    for (int round = 0; round < kSoldOutRounds; ++round) {
      measure_answers(server, next_trivial, 200, nothing);
      measure_answers(server, next_order, 409, sold_out);
    }
    figure("trivial handler", nothing.per_second(), "answers/s");
    figure("sold out", sold_out.per_second(), "answers/s");
    figure("trivial handler: server CPU per answer", nothing.server_cpu / nothing.count * 1e6, "us");
    figure("sold out: server CPU per answer", sold_out.server_cpu / sold_out.count * 1e6, "us");
    ratio("sold-out answers per second : trivial handler", sold_out.per_second() / nothing.per_second(), .7);
  }

  struct Answers {
    double count = 0, seconds = 0, server_cpu = 0;
    double per_second() const { return count / seconds; }
  };

  void measure_answers(BenchServer& server, const NextRequest& next, int status, Answers& answers) {
    const ClosedLoopSettings loop{server.target(), settings_.connections, kWarmUp / 4,
                                  settings_.duration * 2 / kSoldOutRounds, kLimit};
    const auto load = run_closed_loop(
        loop, next, [&](bool over) { answers.server_cpu += (over ? 1 : -1) * server.usage().cpu_seconds; });
    answers.count += static_cast<double>(load.answers(status));
    answers.seconds += load.seconds;
  }

  // The same bytes to another path: the difference is the handler's alone.
  static std::string trivial_request(std::string order) {
    const std::string path = "/api/orders";
    return order.replace(order.find(path), path.size(), "/bench/trivial");
  }

  void measure_many_connections(BenchServer& server) {
    const long threads = server.usage().threads;
    const Throughput result = measure_orders(server, settings_.many_connections, "m");
    const Usage after = server.usage();
    const std::string name = std::to_string(settings_.many_connections) + " connections";
    figure(name + ": accepted", result.accepted_per_second, "orders/s");
    figure(name + ": accept p99", result.p99_ms, "ms");
    figure(name + ": peak RSS", static_cast<double>(after.peak_rss_kib) / 1024, "MiB");
    limit(name + ": requests that timed out or were lost", static_cast<double>(result.unanswered), 0);
    limit(name + ": threads more than before", static_cast<double>(after.threads - threads), 0);
    limit(name + ": RSS in MB", static_cast<double>(after.rss_kib) * 1024 / 1e6, 150);
  }

  // One buyer waits for each answer; between two orders one bare commit, on the same disk.
  void measure_one_buyer(BenchServer& server) {
    say("one buyer at a time");
    OrderSource orders(kPlentiful, "o");
    Latency accept, commit;
    constexpr int kRound = 20;
    for (int done = 0; done < settings_.one_at_a_time; done += kRound) {
      commit.merge(measure_commits(settings_.directory, kRound));
      accept.merge(buy_one_by_one(server, orders, kRound));
    }
    figure("one buyer: accept p50", milliseconds(accept.at(.5)), "ms");
    figure("one buyer: accept p99", milliseconds(accept.at(.99)), "ms");
    figure("one bare commit: p50", milliseconds(commit.at(.5)), "ms");
    figure("one bare commit: p99", milliseconds(commit.at(.99)), "ms");
    report_.ratios.push_back({"one buyer's accept p99 : one commit p99",
                              milliseconds(accept.at(.99)) / milliseconds(commit.at(.99)), 3, false});
  }

  static Latency buy_one_by_one(const BenchServer& server, OrderSource& orders, int count) {
    Loop loop(server.target());
    Client client(loop, kLimit);
    Latency latency;
    std::function<void()> buy = [&] {
      client.send(orders.next(), [&](const Answer& answer) {
        if (answer.status != 202) return loop.stop();
        latency.add(answer.latency);
        if (--count > 0)
          buy();
        else
          loop.stop();
      });
    };
    buy();
    loop.run();
    if (count > 0) throw std::runtime_error("an order of the only buyer was not accepted");
    return latency;
  }

  void figure(std::string name, double value, std::string unit) {
    report_.figures.push_back({std::move(name), value, std::move(unit)});
  }
  void ratio(std::string name, double value, double at_least) {
    report_.ratios.push_back({std::move(name), value, at_least, true});
  }
  void limit(std::string name, double value, double at_most) {
    report_.ratios.push_back({std::move(name), value, at_most, false});
  }

  static constexpr Milliseconds kLimit{10'000};
  const EmbeddedBenchSettings& settings_;
  BenchReport report_;
};

}  // namespace

bool BenchReport::all_met() const {
  return std::all_of(ratios.begin(), ratios.end(), [](const Ratio& ratio) { return ratio.met(); });
}

BenchReport run_embedded_bench(const EmbeddedBenchSettings& settings) {
  return Bench(settings).run();
}

}  // namespace penstock::load
