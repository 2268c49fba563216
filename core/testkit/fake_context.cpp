#include "penstock/testkit/fake_context.hpp"

#include "penstock/testkit/wait_until.hpp"

#include <algorithm>
#include <stdexcept>

namespace penstock::testkit {
namespace {

std::string metric_key(std::string_view name, const Labels& labels) {
  std::string key(name);
  if (labels.empty()) return key;
  auto sorted = labels;
  std::sort(sorted.begin(), sorted.end());
  key += '{';
  for (const auto& [label, value] : sorted) {
    if (key.back() != '{') key += ',';
    key += label + "=\"" + value + '"';
  }
  return key + '}';
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// The `{name}` parts of a matching path, or nothing when it does not match.
std::optional<std::map<std::string, std::string, std::less<>>> match(const std::string& route,
                                                                     const std::string& path) {
  const auto wanted = split(route, '/');
  const auto found = split(path, '/');
  if (wanted.size() != found.size()) return std::nullopt;
  std::map<std::string, std::string, std::less<>> params;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& part = wanted[i];
    if (part.size() > 2 && part.front() == '{')
      params[part.substr(1, part.size() - 2)] = found[i];
    else if (part != found[i])
      return std::nullopt;
  }
  return params;
}

class FakeRequest : public HttpRequest {
 public:
  FakeRequest(const RecordingRoutes::Call& call, std::map<std::string, std::string, std::less<>> params)
      : call_(call), params_(std::move(params)) {}
  HttpMethod method() const override { return call_.method; }
  std::string_view path() const override { return call_.path; }
  std::string_view body() const override { return call_.body; }
  std::optional<std::string_view> header(std::string_view name) const override {
    const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
    for (const auto& [key, value] : call_.headers) {
      if (std::equal(key.begin(), key.end(), name.begin(), name.end(), same)) return value;
    }
    return std::nullopt;
  }
  std::string_view param(std::string_view name) const override {
    const auto found = params_.find(name);
    return found == params_.end() ? std::string_view() : std::string_view(found->second);
  }
  std::optional<std::string> query(std::string_view name) const override {
    const auto found = call_.query.find(std::string(name));
    if (found == call_.query.end()) return std::nullopt;
    return found->second;
  }

 private:
  const RecordingRoutes::Call& call_;
  const std::map<std::string, std::string, std::less<>> params_;
};

class FakeSink : public HttpReply::Sink, public std::enable_shared_from_this<FakeSink> {
 public:
  void send(HttpResponse response) override {
    const std::lock_guard lock(mutex_);
    answer_.response = std::move(response);
    finished_ = true;
  }

  std::shared_ptr<HttpStream> stream() override {
    {
      const std::lock_guard lock(mutex_);
      answer_.response.status = 200;
      answer_.response.content_type = "text/event-stream";
    }
    return std::make_shared<Stream>(shared_from_this());
  }

  bool finished() const {
    const std::lock_guard lock(mutex_);
    return finished_;
  }
  RecordingRoutes::Answer answer() const {
    const std::lock_guard lock(mutex_);
    auto copy = answer_;
    if (!finished_) copy.response.status = 0;
    return copy;
  }

 private:
  class Stream : public HttpStream {
   public:
    explicit Stream(std::shared_ptr<FakeSink> sink) : sink_(std::move(sink)) {}
    bool send_event(std::string_view id, std::string_view event, std::string_view data) override {
      const std::lock_guard lock(sink_->mutex_);
      if (sink_->finished_) return false;
      sink_->answer_.events.push_back(std::string(id) + "|" + std::string(event) + "|" + std::string(data));
      return true;
    }
    bool open() const override { return !sink_->finished(); }
    void close() override {
      const std::lock_guard lock(sink_->mutex_);
      sink_->finished_ = true;
    }

   private:
    const std::shared_ptr<FakeSink> sink_;
  };

  mutable std::mutex mutex_;
  RecordingRoutes::Answer answer_;
  bool finished_ = false;
};

}  // namespace

TimePoint RealClock::now() const {
  return std::chrono::floor<Milliseconds>(std::chrono::system_clock::now());
}

std::uint64_t SeededRandom::next() {
  std::uint64_t z = state_.fetch_add(0x9e3779b97f4a7c15ULL) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

void RecordingLogger::write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  static constexpr std::string_view kLevels[] = {"debug", "info", "warn", "error"};
  std::string line(kLevels[static_cast<int>(level)]);
  line += ' ';
  line += event;
  for (const auto& field : fields) line += " " + std::string(field.key) + "=" + field.value;
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(line));
}

std::vector<std::string> RecordingLogger::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

bool RecordingLogger::contains(std::string_view text) const {
  const auto all = lines();
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

struct RecordingMetrics::Cell : public Counter, public Gauge, public Histogram {
  void add(double amount) override { total += amount; }
  void set(double value) override { total = value; }
  void observe(double value) override {
    total += 1;
    sum += value;
  }
  std::atomic<double> total{0};
  std::atomic<double> sum{0};
};

RecordingMetrics::RecordingMetrics() = default;
RecordingMetrics::~RecordingMetrics() = default;

RecordingMetrics::Cell& RecordingMetrics::cell(std::string_view name, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  auto& slot = cells_[metric_key(name, labels)];
  if (!slot) slot = std::make_unique<Cell>();
  return *slot;
}

Counter& RecordingMetrics::counter(std::string_view name, std::string_view, const Labels& labels) {
  return cell(name, labels);
}
Gauge& RecordingMetrics::gauge(std::string_view name, std::string_view, const Labels& labels) {
  return cell(name, labels);
}
Histogram& RecordingMetrics::histogram(std::string_view name, std::string_view, const Labels& labels,
                                       const std::vector<double>&) {
  return cell(name, labels);
}

std::string RecordingMetrics::expose() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [key, cell] : cells_) text += key + " " + std::to_string(cell->total) + "\n";
  return text;
}

double RecordingMetrics::value(std::string_view name_and_labels) const {
  const std::lock_guard lock(mutex_);
  const auto found = cells_.find(name_and_labels);
  return found == cells_.end() ? 0 : found->second->total.load();
}

double RecordingMetrics::sum(std::string_view histogram_name_and_labels) const {
  const std::lock_guard lock(mutex_);
  const auto found = cells_.find(histogram_name_and_labels);
  return found == cells_.end() ? 0 : found->second->sum.load();
}

class RecordingHealth::Probe : public HealthProbe {
 public:
  Probe(std::shared_ptr<States> states, std::string name)
      : states_(std::move(states)), name_(std::move(name)) {
    set("starting");
  }
  ~Probe() override {
    const std::lock_guard lock(states_->mutex);
    states_->by_name.erase(name_);
  }
  void ready() override { set(""); }
  void not_ready(std::string_view reason) override { set(reason); }

 private:
  void set(std::string_view state) {
    const std::lock_guard lock(states_->mutex);
    states_->by_name[name_] = state;
  }
  const std::shared_ptr<States> states_;
  const std::string name_;
};

std::unique_ptr<HealthProbe> RecordingHealth::probe(std::string_view name) {
  return std::make_unique<Probe>(states_, std::string(name));
}

std::string RecordingHealth::state(std::string_view name) const {
  const std::lock_guard lock(states_->mutex);
  const auto found = states_->by_name.find(name);
  return found == states_->by_name.end() ? "no such probe" : found->second;
}

void RecordingRoutes::add(HttpRoute route) {
  routes_.push_back(std::move(route));
}

RecordingRoutes::Answer RecordingRoutes::call(const Call& call, Milliseconds limit) {
  for (const auto& route : routes_) {
    if (route.method != call.method) continue;
    auto params = match(route.path, call.path);
    if (!params) continue;
    const auto sink = std::make_shared<FakeSink>();
    route.handler(FakeRequest(call, std::move(*params)), HttpReply(sink));
    wait_until([&] { return sink->finished(); }, limit);
    return sink->answer();
  }
  return {problem(404, "NOT_FOUND", "no route of the plugin matches"), {}};
}

MapConfig& MapConfig::set(std::string key, std::string value) {
  values_[std::move(key)] = std::move(value);
  return *this;
}

std::string MapConfig::text(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) throw std::logic_error("the key " + std::string(key) + " is not declared");
  return found->second;
}

std::int64_t MapConfig::integer(std::string_view key) const {
  return std::stoll(text(key));
}
bool MapConfig::flag(std::string_view key) const {
  return text(key) == "true";
}
std::vector<std::string> MapConfig::list(std::string_view key) const {
  return split(text(key), ',');
}

std::chrono::milliseconds MapConfig::duration(std::string_view key) const {
  return key.ends_with("_seconds") ? std::chrono::seconds(integer(key)) : Milliseconds(integer(key));
}

void MapServices::provide_raw(std::string_view name, void* service) {
  services_[std::string(name)] = service;
}

void* MapServices::require_raw(std::string_view name) {
  const auto found = services_.find(name);
  if (found == services_.end()) throw std::logic_error("no service " + std::string(name) + " was provided");
  return found->second;
}

}  // namespace penstock::testkit
