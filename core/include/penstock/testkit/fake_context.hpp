// A host for one plugin under test: a clock the test moves, seeded randomness, and everything the
// plugin registers or reports kept for the test to read. Thread-safe like the real one.
#pragma once

#include "penstock/context.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

namespace penstock::testkit {

// Stands still until told. steady_now() moves together with now().
class ManualClock : public Clock {
 public:
  TimePoint now() const override { return TimePoint(Milliseconds(ms_.load())); }
  Deadline steady_now() const override { return Deadline(Milliseconds(ms_.load() - kStartMs)); }
  void advance(Milliseconds span) { ms_ += span.count(); }  // negative: the clock is stepped back

 private:
  static constexpr std::int64_t kStartMs = 1'700'000'000'000;
  std::atomic<std::int64_t> ms_{kStartMs};
};

// The machine's clocks.
class RealClock : public Clock {
 public:
  TimePoint now() const override;
  Deadline steady_now() const override { return std::chrono::steady_clock::now(); }
};

// splitmix64: the same seed gives the same sequence.
class SeededRandom : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;

 private:
  std::atomic<std::uint64_t> state_;
};

// Keeps every line as "level event key=value ...".
class RecordingLogger : public Logger {
 public:
  bool enabled(LogLevel) const override { return true; }
  void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) override;
  std::vector<std::string> lines() const;
  bool contains(std::string_view text) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Values by name and labels, e.g. value("penstock_consumed_total{consumer=\"lock\",outcome=\"done\"}").
class RecordingMetrics : public Metrics {
 public:
  RecordingMetrics();
  ~RecordingMetrics() override;
  Counter& counter(std::string_view name, std::string_view help, const Labels& labels) override;
  Gauge& gauge(std::string_view name, std::string_view help, const Labels& labels) override;
  Histogram& histogram(std::string_view name, std::string_view help, const Labels& labels,
                       const std::vector<double>& buckets) override;
  std::string expose() override;

  // Counter or gauge value, or a histogram's number of observations; 0 when there is no such metric.
  double value(std::string_view name_and_labels) const;
  double sum(std::string_view histogram_name_and_labels) const;

 private:
  struct Cell;
  Cell& cell(std::string_view name, const Labels& labels);
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Cell>, std::less<>> cells_;
};

class RecordingHealth : public Health {
 public:
  [[nodiscard]] std::unique_ptr<HealthProbe> probe(std::string_view name) override;
  // "" when ready; the reason when not; "no such probe" when there is none.
  std::string state(std::string_view name) const;

 private:
  struct States {
    mutable std::mutex mutex;
    std::map<std::string, std::string, std::less<>> by_name;
  };
  class Probe;
  std::shared_ptr<States> states_ = std::make_shared<States>();
};

// Keeps the routes; call() runs a handler as the listener would and waits for its answer.
class RecordingRoutes : public HttpRoutes {
 public:
  struct Call {
    HttpMethod method = HttpMethod::Get;
    std::string path;  // concrete, without query
    std::string body;
    std::map<std::string, std::string> headers;
    std::map<std::string, std::string> query;
  };
  struct Answer {
    HttpResponse response;
    std::vector<std::string> events;  // "id|event|data" when the handler opened a stream
  };

  void add(HttpRoute route) override;
  // Blocks until the handler answered (a stream: until it is closed) or the limit passes; then the
  // status is 0. 404 when no route matches.
  Answer call(const Call& call, Milliseconds limit = std::chrono::seconds(10));
  const std::vector<HttpRoute>& routes() const { return routes_; }

 private:
  std::vector<HttpRoute> routes_;
};

// Values by key; reading a key that was not set throws, as the host does for undeclared keys.
class MapConfig : public Config {
 public:
  MapConfig& set(std::string key, std::string value);
  std::string text(std::string_view key) const override;
  std::int64_t integer(std::string_view key) const override;
  bool flag(std::string_view key) const override;
  std::vector<std::string> list(std::string_view key) const override;
  std::chrono::milliseconds duration(std::string_view key) const override;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

class MapServices : public Services {
 private:
  void provide_raw(std::string_view name, void* service) override;
  void* require_raw(std::string_view name) override;
  std::map<std::string, void*, std::less<>> services_;
};

class FakeContext : public Context {
 public:
  explicit FakeContext(std::uint64_t seed = 1) : random_(seed) {}

  RecordingLogger& logger() override { return logger_; }
  MapConfig& config() { return config_; }
  const Config& config() const override { return config_; }
  ManualClock& clock() override { return clock_; }
  SeededRandom& random() override { return random_; }
  RecordingMetrics& metrics() override { return metrics_; }
  RecordingHealth& health() override { return health_; }
  RecordingRoutes& http() override { return http_; }
  MapServices& services() override { return services_; }
  const Paths& paths() const override { return paths_; }
  Paths& paths() { return paths_; }

 private:
  RecordingLogger logger_;
  MapConfig config_;
  ManualClock clock_;
  SeededRandom random_;
  RecordingMetrics metrics_;
  RecordingHealth health_;
  RecordingRoutes http_;
  MapServices services_;
  Paths paths_;
};

}  // namespace penstock::testkit
