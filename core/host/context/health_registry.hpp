// HealthRegistry: the state of every dependency, and what /health/live and /health/ready answer.
// Each change is logged once. Thread-safe.
#pragma once

#include "penstock/health.hpp"
#include "penstock/http.hpp"
#include "penstock/logger.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace penstock::host {

class HealthRegistry : public Health {
 public:
  enum class Stage { Starting, Serving, Stopping };

  explicit HealthRegistry(Logger& logger);  // starts as Starting
  ~HealthRegistry() override;

  // A probe may outlive the registry; it then reports to nobody.
  [[nodiscard]] std::unique_ptr<HealthProbe> probe(std::string_view name) override;
  // Several plugins may watch the same dependency, each with its own eyes: the plugin is told, too.
  [[nodiscard]] std::unique_ptr<HealthProbe> probe_of(std::string_view plugin, std::string_view name);

  // Only a serving process is ready, whatever its dependencies say.
  void set_stage(Stage stage);

  bool is_ready() const;
  // {"status":"ready","dependencies":[{"name":"database","plugin":"…","status":"not_ready","reason":"…"}]}
  std::string ready_body() const;

 private:
  class Entries;
  class Probe;
  std::shared_ptr<Entries> entries_;
};

// The registry as one plugin sees it.
class PluginHealth : public Health {
 public:
  PluginHealth(HealthRegistry& registry, std::string plugin)
      : registry_(registry), plugin_(std::move(plugin)) {}
  [[nodiscard]] std::unique_ptr<HealthProbe> probe(std::string_view name) override {
    return registry_.probe_of(plugin_, name);
  }

 private:
  HealthRegistry& registry_;
  const std::string plugin_;
};

// GET /health/live: 200 as long as the process can answer. GET /health/ready: 200 or 503, and why.
// Both on the operator listener.
void add_health_routes(HttpRoutes& routes, const HealthRegistry& health);

}  // namespace penstock::host
