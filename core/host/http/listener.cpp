#include "host/http/listener.hpp"

#include <stdexcept>

namespace penstock::host::http {
namespace {

constexpr std::array<const char*, 6> kRefusedReasons{"connections", "in_flight", "streams",
                                                     "malformed",   "timed_out", "slow_stream"};

bool covers(const std::string& entry, std::string_view path) {
  return entry.ends_with('/') ? path.starts_with(entry) : path == entry;
}

}  // namespace

Listener::Listener(HttpListenerSettings with, std::vector<std::string> always_open, Logger& log,
                   Metrics& metric)
    : settings(std::move(with)),
      logger(log),
      metrics(metric),
      always_open_(std::move(always_open)),
      open_connections_(
          metric.gauge("penstock_http_connections", "Open connections.", {{"listener", settings.key}})),
      open_streams_(
          metric.gauge("penstock_http_streams", "Open event streams.", {{"listener", settings.key}})) {
  tables_.push_back(std::make_unique<RouteTable>());
  routes_ = tables_.back().get();
  for (std::size_t i = 0; i < kVerbs; ++i) {
    unrouted_[i] = std::make_unique<Durations>(metrics, "none", to_string(static_cast<Verb>(i)));
  }
  for (std::size_t i = 0; i < refused_.size(); ++i) {
    refused_[i] =
        &metrics.counter("penstock_http_refused_total", "Clients turned away by the listener itself.",
                         {{"listener", settings.key}, {"reason", kRefusedReasons[i]}});
  }
}

void Listener::add(HttpRoute spec) {
  static constexpr std::array<std::string_view, 4> kMethods{"GET", "POST", "PUT", "DELETE"};
  if (!spec.handler) throw std::invalid_argument("route " + spec.path + " has no handler");
  bool always_open = false;
  for (const auto& entry : always_open_) always_open = always_open || covers(entry, spec.path);
  std::string path = spec.path;
  const auto method = kMethods[static_cast<std::size_t>(spec.method)];
  std::shared_ptr<Route> route(new Route{std::move(spec), {metrics, std::move(path), method}, always_open});

  const std::lock_guard lock(adding_);
  auto next = std::make_unique<RouteTable>(*tables_.back());
  next->add(std::move(route));
  tables_.push_back(std::move(next));
  routes_.store(tables_.back().get(), std::memory_order_release);
}

void Listener::log_defect(std::string_view event, std::string_view route, std::string_view what) {
  std::uint64_t suppressed = 0;
  if (!defects_.pass(suppressed)) return;
  logger.error(event,
               {{"listener", settings.key}, {"route", route}, {"what", what}, {"suppressed", suppressed}});
}

void Listener::connection_closed() {
  if (connections_.fetch_sub(1) != 1 || !draining) return;
  const std::lock_guard lock(empty_mutex_);
  empty_.notify_all();
}

bool Listener::wait_until_empty(Deadline deadline) {
  std::unique_lock lock(empty_mutex_);
  return empty_.wait_until(lock, deadline, [this] { return connections_ == 0; });
}

void Listener::publish_gauges() {
  open_connections_.set(static_cast<double>(connections_.load()));
  open_streams_.set(static_cast<double>(streams.load()));
}

}  // namespace penstock::host::http
