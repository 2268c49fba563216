#include "host/context/health_registry.hpp"
#include "host/context/log_line.hpp"
#include "host/context/log_sink.hpp"
#include "host/context/prometheus_metrics.hpp"
#include "host/context/service_registry.hpp"
#include "host/context/system_clock.hpp"

#include "penstock/json.hpp"
#include "penstock/testkit/fake_context.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

namespace penstock::host {
namespace {

class Pipe {
 public:
  Pipe() { CPPUNIT_ASSERT_EQUAL(0, ::pipe2(ends_, O_NONBLOCK)); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int in() const { return ends_[1]; }
  std::string read() const {
    std::string all(1024 * 1024, '\0');
    std::size_t size = 0;
    for (ssize_t got; (got = ::read(ends_[0], all.data() + size, all.size() - size)) > 0;)
      size += static_cast<std::size_t>(got);
    return all.substr(0, size);
  }

 private:
  int ends_[2] = {-1, -1};
};

struct Gadget {
  static constexpr std::string_view kServiceName = "gadget";
};
struct Other {
  static constexpr std::string_view kServiceName = "other";
};

class ContextTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ContextTest);
  CPPUNIT_TEST(text_line_quotes_what_could_forge_a_field);
  CPPUNIT_TEST(json_line_is_one_valid_object_whatever_the_value);
  CPPUNIT_TEST(line_is_never_longer_than_one_atomic_write);
  CPPUNIT_TEST(reader_that_does_not_read_costs_lines_but_never_blocks);
  CPPUNIT_TEST(lines_below_the_level_are_not_written);
  CPPUNIT_TEST(same_metric_twice_is_one_metric);
  CPPUNIT_TEST(metric_defects_are_refused);
  CPPUNIT_TEST(exposition_has_build_info_and_every_metric);
  CPPUNIT_TEST(process_is_ready_only_when_serving_and_all_dependencies_are);
  CPPUNIT_TEST(each_health_change_is_logged_once);
  CPPUNIT_TEST(probe_may_outlive_its_registry);
  CPPUNIT_TEST(services_are_bound_to_the_manifest);
  CPPUNIT_TEST(random_numbers_do_not_repeat_across_threads);
  CPPUNIT_TEST_SUITE_END();

 public:
  void text_line_quotes_what_could_forge_a_field() {
    // A user id of "x outcome=ok" must not read as a second field, nor end the line.
    const LogField fields[] = {
        {"user", "x outcome=ok"}, {"path", "/a\nerror forged=1"}, {"empty", ""}, {"n", 7}};
    const auto line = to_text(
        {TimePoint(Milliseconds(1'700'000'000'123)), LogLevel::Warn, "refused", "intake", fields}, 100);
    CPPUNIT_ASSERT_EQUAL(
        std::string("2023-11-14T22:13:20.123Z warn refused plugin=intake user=\"x outcome=ok\" "
                    "path=\"/a\\x0aerror forged=1\" empty=\"\" n=7"),
        line);
  }

  void json_line_is_one_valid_object_whatever_the_value() {
    // One line that is no JSON stops a log shipper.
    const LogField fields[] = {{"value", std::string("a\"\\\n\x01\xff\xc3", 7)}};
    const auto line = to_json({TimePoint{}, LogLevel::Error, "broken", "", fields}, 100);
    CPPUNIT_ASSERT_EQUAL(std::string::npos, line.find('\n'));
    const auto parsed = json::parse(line);
    CPPUNIT_ASSERT(parsed.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("error"), *parsed->find("level")->as_string());
    CPPUNIT_ASSERT(parsed->find("value")->as_string()->starts_with("a\"\\\n"));
  }

  void line_is_never_longer_than_one_atomic_write() {
    // Longer ones of two threads would mix in a pipe.
    for (const auto format : {LogFormat::Text, LogFormat::Json}) {
      const Pipe pipe;
      LogSink sink(pipe.in(), LogLevel::Info, format, clock_);
      const std::string nasty(5'000, '\x01');
      sink.info("long", {{"a", nasty}, {"b", nasty}, {"c", nasty}, {"d", nasty}, {"e", nasty}});
      const auto text = pipe.read();
      CPPUNIT_ASSERT(text.size() <= LogSink::kMaxLine);
      CPPUNIT_ASSERT_EQUAL('\n', text.back());
      if (format == LogFormat::Json) CPPUNIT_ASSERT(json::parse(text).ok());
    }
  }

  void reader_that_does_not_read_costs_lines_but_never_blocks() {
    // Orders must not stop because a terminal was paused.
    const Pipe pipe;
    LogSink sink(pipe.in(), LogLevel::Info, LogFormat::Text, clock_);
    for (int i = 0; i < 5'000; ++i) sink.info("line", {{"text", std::string(100, 'x')}});
    CPPUNIT_ASSERT(!pipe.read().empty());
    sink.info("after", {});
    const auto text = pipe.read();
    CPPUNIT_ASSERT(text.find("log_lines_dropped count=") != std::string::npos);
    CPPUNIT_ASSERT(text.find("after") != std::string::npos);
  }

  void lines_below_the_level_are_not_written() {
    // Debug has a line per order: at info it must cost nothing and show nothing.
    const Pipe pipe;
    LogSink sink(pipe.in(), LogLevel::Warn, LogFormat::Text, clock_);
    sink.debug("one", {});
    sink.info("two", {});
    sink.warn("three", {});
    const auto text = pipe.read();
    CPPUNIT_ASSERT_EQUAL(std::string::npos, text.find("one"));
    CPPUNIT_ASSERT_EQUAL(std::string::npos, text.find("two"));
    CPPUNIT_ASSERT(text.find("three") != std::string::npos);
  }

  void same_metric_twice_is_one_metric() {
    // Two plugins count into one series; the order in which they write labels does not matter.
    PrometheusMetrics metrics;
    auto& first = metrics.counter("penstock_things_total", "Things.", {{"a", "1"}, {"b", "2"}});
    auto& second = metrics.counter("penstock_things_total", "Things.", {{"b", "2"}, {"a", "1"}});
    CPPUNIT_ASSERT(&first == &second);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 1'000; ++n)
          metrics.counter("penstock_things_total", "Things.", {{"a", "1"}, {"b", "2"}}).increment();
      });
    }
    for (auto& thread : threads) thread.join();
    CPPUNIT_ASSERT(metrics.expose().find("penstock_things_total{a=\"1\",b=\"2\"} 4000") != std::string::npos);
  }

  void metric_defects_are_refused() {
    // A scrape that fails as a whole hides every other metric.
    PrometheusMetrics metrics;
    metrics.counter("penstock_things_total", "Things.", {});
    CPPUNIT_ASSERT_THROW(metrics.gauge("penstock_things_total", "Things.", {}), std::invalid_argument);
    CPPUNIT_ASSERT_THROW(metrics.counter("penstock things", "Things.", {}), std::invalid_argument);
    CPPUNIT_ASSERT_THROW(metrics.counter("penstock_x_total", "X.", {{"bad label", "1"}}),
                         std::invalid_argument);
    CPPUNIT_ASSERT_THROW(metrics.counter("penstock_x_total", "X.", {{"label", "\xff"}}),
                         std::invalid_argument);
    CPPUNIT_ASSERT_THROW(metrics.histogram("penstock_h_seconds", "H.", {}, {1, 1}), std::invalid_argument);
  }

  void exposition_has_build_info_and_every_metric() {
    // Dashboards start from these names.
    PrometheusMetrics metrics;
    metrics.gauge("penstock_level", "A level.", {}).set(3);
    metrics.histogram("penstock_wait_seconds", "A wait.", {}, {0.1, 1}).observe(0.5);
    const auto text = metrics.expose();
    CPPUNIT_ASSERT(text.find("penstock_build_info{") != std::string::npos);
    CPPUNIT_ASSERT(text.find("penstock_level 3") != std::string::npos);
    CPPUNIT_ASSERT(text.find("penstock_wait_seconds_bucket{le=\"1\"} 1") != std::string::npos);
  }

  void process_is_ready_only_when_serving_and_all_dependencies_are() {
    // A balancer sends buyers where ready says 200.
    testkit::RecordingLogger log;
    HealthRegistry health(log);
    auto database = PluginHealth(health, "store").probe("database");
    health.set_stage(HealthRegistry::Stage::Serving);
    CPPUNIT_ASSERT(!health.is_ready());
    database->ready();
    CPPUNIT_ASSERT(health.is_ready());
    database->not_ready("connection refused");
    CPPUNIT_ASSERT(!health.is_ready());
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"({"status":"not_ready","dependencies":[{"name":"host","status":"ready"},)"
            R"({"name":"database","plugin":"store","status":"not_ready","reason":"connection refused"}]})"),
        health.ready_body());
    database.reset();
    CPPUNIT_ASSERT(health.is_ready());
    health.set_stage(HealthRegistry::Stage::Stopping);
    CPPUNIT_ASSERT(!health.is_ready());
    CPPUNIT_ASSERT(health.ready_body().find("shutting down") != std::string::npos);
  }

  void each_health_change_is_logged_once() {
    // A probe reports every poll; the log shall show the change.
    testkit::RecordingLogger log;
    HealthRegistry health(log);
    const auto probe = health.probe("database");
    for (int i = 0; i < 3; ++i) probe->ready();
    for (int i = 0; i < 3; ++i) probe->not_ready("away");
    probe->ready();
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, log.lines().size());
    CPPUNIT_ASSERT(log.lines()[1].find("away") != std::string::npos);
  }

  void probe_may_outlive_its_registry() {
    // A plugin's destructor may come late; it must not touch freed memory.
    testkit::RecordingLogger log;
    auto health = std::make_unique<HealthRegistry>(log);
    auto probe = health->probe("database");
    health.reset();
    probe->ready();
    probe.reset();
    CPPUNIT_ASSERT(log.lines().empty());
  }

  void services_are_bound_to_the_manifest() {
    // What the manifest does not say, the resolution before the start could not check.
    ServiceRegistry registry;
    Manifest provider;
    provider.name = "provider";
    provider.provides = {"gadget"};
    Manifest user;
    user.name = "user";
    user.requires_ = {"gadget"};
    PluginServices provided(registry, provider);
    PluginServices required(registry, user);
    Gadget gadget;
    Other other;
    CPPUNIT_ASSERT_THROW(required.require<Gadget>(), std::logic_error);
    provided.provide(gadget);
    CPPUNIT_ASSERT(&gadget == &required.require<Gadget>());
    CPPUNIT_ASSERT_THROW(provided.provide(gadget), std::logic_error);
    CPPUNIT_ASSERT_THROW(provided.provide(other), std::logic_error);
    CPPUNIT_ASSERT_THROW(required.require<Other>(), std::logic_error);
  }

  void random_numbers_do_not_repeat_across_threads() {
    // Lease tokens and order numbers stand on this.
    SystemRandom random;
    std::vector<std::vector<std::uint64_t>> drawn(4);
    std::vector<std::thread> threads;
    for (auto& mine : drawn) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1'000; ++i) mine.push_back(random.next());
      });
    }
    for (auto& thread : threads) thread.join();
    std::set<std::uint64_t> all;
    for (const auto& mine : drawn) all.insert(mine.begin(), mine.end());
    CPPUNIT_ASSERT_EQUAL(std::size_t{4'000}, all.size());
  }

 private:
  SystemClock clock_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(ContextTest);

}  // namespace
}  // namespace penstock::host
