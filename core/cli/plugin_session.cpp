#include "cli/plugin_session.hpp"

#include "host/context/health_registry.hpp"
#include "host/context/prometheus_metrics.hpp"
#include "host/context/system_clock.hpp"
#include "host/serve/log_settings.hpp"

#include <unistd.h>

namespace penstock::cli {
namespace {

// A command's answer is what it prints; the plugins' lifecycle is not, unless somebody asks.
LogLevel level_of(const host::CheckedConfig& config) {
  const bool was_asked = config.find("log.level")->place == "--set";
  return was_asked ? host::log_level_of(config) : std::max(LogLevel::Warn, host::log_level_of(config));
}

int run(const Invocation& invocation, const host::Deployment& deployment,
        std::span<const host::InstalledPlugin> plugins, const std::function<int(host::Host&)>& work) {
  const host::SystemClock clock;
  host::LogSink log(STDERR_FILENO, level_of(deployment.config), host::log_format_of(deployment.config),
                    clock);
  host::PrometheusMetrics metrics;
  host::HealthRegistry health(log);
  host::NoRoutes routes;
  host::Host host(deployment, {log, metrics, health, routes, host::end_process_on_overrun(log)});
  if (const auto problems = host.load(plugins); !problems.empty()) return report(invocation, problems);
  if (const auto started = host.start(); !started) return report(invocation, started.error());
  const int status = work(host);
  const auto stopped = host.stop();
  return stopped || status != host::kExitOk ? status : report(invocation, stopped.error());
}

}  // namespace

int with_plugins(const Invocation& invocation, std::initializer_list<std::string_view> services,
                 const std::function<int(host::Host&)>& work) {
  const auto checked = host::check_deployment(invocation.sources, invocation.installation);
  if (!checked.deployment) return report(invocation, checked.problems);
  const auto plugins = checked.deployment->providing(services);
  if (!plugins) return report(invocation, plugins.error());
  return run(invocation, *checked.deployment, *plugins, work);
}

}  // namespace penstock::cli
