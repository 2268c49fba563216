// What the connections of one listener share: settings, routes, limits, counts, the state of its life.
// Thread-safe throughout. Outlives the server for replies that are answered late.
#pragma once

#include "host/http/http_server.hpp"
#include "host/http/route_table.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace penstock::host::http {

// Why a client was turned away; the label of penstock_http_refused_total.
enum class Refused { Connections, InFlight, Streams, Malformed, TimedOut, SlowStream };

class Listener {
 public:
  Listener(HttpListenerSettings settings, std::vector<std::string> always_open, Logger& logger,
           Metrics& metrics);

  const HttpListenerSettings settings;
  Logger& logger;
  Metrics& metrics;

  // Throws std::invalid_argument, see RouteTable::add.
  void add(HttpRoute route);
  const RouteTable& routes() const { return *routes_.load(std::memory_order_acquire); }
  // Durations of answers that belong to no route.
  Durations& unrouted(Verb verb) { return *unrouted_[static_cast<std::size_t>(verb)]; }
  // A plugin's defect, at most once a second.
  void log_defect(std::string_view event, std::string_view route, std::string_view what);
  void count(Refused reason) { refused_[static_cast<std::size_t>(reason)]->increment(); }

  std::atomic<bool> open{false};
  std::atomic<bool> draining{false};  // set after drain_since, once
  std::atomic<Deadline> drain_since{Deadline::max()};

  std::atomic<std::size_t> in_flight{0};
  std::atomic<std::size_t> streams{0};
  std::size_t connection_opened() { return connections_.fetch_add(1) + 1; }
  void connection_closed();
  std::size_t connections() const { return connections_.load(); }
  bool wait_until_empty(Deadline deadline);
  void publish_gauges();

 private:
  const std::vector<std::string> always_open_;
  std::atomic<const RouteTable*> routes_;
  std::vector<std::unique_ptr<RouteTable>> tables_;  // all that were ever current, for requests that use them
  std::mutex adding_;
  LogLimit defects_{std::chrono::seconds(1)};
  std::array<std::unique_ptr<Durations>, kVerbs> unrouted_;
  std::array<Counter*, 6> refused_;
  Gauge& open_connections_;
  Gauge& open_streams_;

  std::atomic<std::size_t> connections_{0};
  std::mutex empty_mutex_;
  std::condition_variable empty_;
};

}  // namespace penstock::host::http
