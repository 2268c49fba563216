#include "host/serve/server.hpp"

#include "host/build_info.hpp"
#include "host/context/health_registry.hpp"
#include "host/context/prometheus_metrics.hpp"
#include "host/context/system_clock.hpp"
#include "host/exit_status.hpp"
#include "host/host.hpp"
#include "host/http/http_server.hpp"
#include "host/serve/log_settings.hpp"
#include "host/serve/signals.hpp"

#include "penstock/fail_point.hpp"

#include <unistd.h>

namespace penstock::host {
namespace {

HttpListenerSettings listener_settings(const CheckedConfig& config, const std::string& key) {
  const auto size = [&](std::string_view name) { return static_cast<std::size_t>(config.integer(name)); };
  HttpListenerSettings settings;
  settings.key = key;
  settings.host = config.text(key + ".host");
  settings.port = static_cast<std::uint16_t>(config.integer(key + ".port"));
  settings.max_connections = size(key + ".max_connections");
  settings.max_in_flight = size("http.max_in_flight");
  settings.max_streams = size("http.max_streams");
  settings.max_header_bytes = size("http.max_header_bytes");
  settings.max_target_bytes = size("http.max_target_bytes");
  settings.max_body_bytes = size("http.max_body_bytes");
  settings.stream_queue_bytes = size("http.stream_queue_bytes");
  settings.header_timeout = config.duration("http.header_timeout_ms");
  settings.body_timeout = config.duration("http.body_timeout_ms");
  settings.idle_timeout = config.duration("http.idle_timeout_ms");
  settings.write_timeout = config.duration("http.write_timeout_ms");
  settings.stream_heartbeat = config.duration("http.stream_heartbeat_ms");
  return settings;
}

HttpServerSettings http_settings(const CheckedConfig& config) {
  HttpServerSettings settings;
  settings.io_threads = static_cast<int>(config.integer("http.io_threads"));
  settings.public_listener = listener_settings(config, "http.public");
  settings.operator_listener = listener_settings(config, "http.operator");
  return settings;
}

class Server {
 public:
  explicit Server(const Deployment& deployment)
      : deployment_(deployment),
        config_(deployment.config),
        log_(STDERR_FILENO, log_level_of(config_), log_format_of(config_), clock_),
        health_(log_),
        http_(http_settings(config_), log_, metrics_),
        host_(deployment, {log_, metrics_, health_, http_, end_process_on_overrun(log_)}),
        signals_(log_, config_.duration("lifecycle.drain_ms")) {}

  int run() {
    const int status = start();
    if (status == kExitOk) {
      signals_.wait();
      return stop();
    }
    // Some routes answer before all plugins have started; none may while they are being destroyed.
    http_.drain(clock_.steady_now());
    static_cast<void>(host_.stop());
    return status;
  }

 private:
  int start() {
    log_.info("starting", {{"version", build_info().version},
                           {"pid", ::getpid()},
                           {"plugins", joined(config_.list("plugins"))}});
    for (const auto& point : fail_point::armed()) log_.warn("fail_point_armed", {{"point", point}});
    add_health_routes(http_, health_);
    if (auto listening = http_.start(); !listening) return give_up(listening.error());
    const auto problems = host_.load(deployment_.plugins);
    for (const auto& problem : problems) log_.error("plugin_refused", {{"problem", to_text(problem)}});
    if (!problems.empty()) return kExitUsage;
    if (auto started = host_.start(); !started) return give_up(started.error());
    http_.open();
    health_.set_stage(HealthRegistry::Stage::Serving);
    log_.info("serving", {{"public", address("http.public", HttpListener::Public)},
                          {"operator", address("http.operator", HttpListener::Operator)}});
    return kExitOk;
  }

  int stop() {
    health_.set_stage(HealthRegistry::Stage::Stopping);
    wait_for_balancer();
    const auto cut = http_.drain(clock_.deadline_in(config_.duration("http.drain_ms")));
    if (cut > 0)
      log_.error("requests_cut", {{"count", cut}, {"next", "raise http.drain_ms if they need longer"}});
    const auto stopped = host_.stop();
    const bool clean = cut == 0 && stopped.ok();
    log_.info("stopped", {{"clean", clean ? "true" : "false"}});
    if (!stopped) return exit_status_of(stopped.error().code);
    return clean ? kExitOk : kExitOverrun;
  }

  int give_up(const Error& error) {
    log_.error("start_failed", {{"error", error.message}});
    return exit_status_of(error.code);
  }

  // A balancer goes on sending until it has seen the readiness; until then it must be served.
  void wait_for_balancer() {
    const auto delay = config_.duration("lifecycle.drain_delay_ms");
    if (delay > Milliseconds::zero()) std::this_thread::sleep_for(delay);
  }

  std::string address(const std::string& key, HttpListener listener) const {
    return config_.text(key + ".host") + ":" + std::to_string(http_.port(listener));
  }

  const Deployment& deployment_;
  const CheckedConfig& config_;
  SystemClock clock_;
  LogSink log_;
  PrometheusMetrics metrics_;
  HealthRegistry health_;
  HttpServer http_;
  Host host_;
  SignalWatch signals_;
};

}  // namespace

int serve(const Deployment& deployment) {
  return Server(deployment).run();
}

}  // namespace penstock::host
