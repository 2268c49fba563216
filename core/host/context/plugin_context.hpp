// PluginContext: the host as one plugin sees it.
#pragma once

#include "host/context/log_sink.hpp"
#include "host/context/service_registry.hpp"
#include "host/host.hpp"

#include "penstock/context.hpp"

#include <memory>

namespace penstock::host {

class PluginContext : public Context {
 public:
  // References are kept.
  PluginContext(const Manifest& manifest, const Deployment& deployment, const Surroundings& surroundings,
                Clock& clock, Random& random, ServiceRegistry& services)
      : logger_(surroundings.log, manifest.name),
        config_(deployment.config.section(manifest)),
        health_(surroundings.health, manifest.name),
        services_(services, manifest),
        paths_(deployment.paths),
        surroundings_(surroundings),
        clock_(clock),
        random_(random) {}

  Logger& logger() override { return logger_; }
  const Config& config() const override { return *config_; }
  Clock& clock() override { return clock_; }
  Random& random() override { return random_; }
  Metrics& metrics() override { return surroundings_.metrics; }
  Health& health() override { return health_; }
  HttpRoutes& http() override { return surroundings_.routes; }
  Services& services() override { return services_; }
  const Paths& paths() const override { return paths_; }

 private:
  PluginLogger logger_;
  const std::unique_ptr<Config> config_;
  PluginHealth health_;
  PluginServices services_;
  const Paths& paths_;
  const Surroundings& surroundings_;
  Clock& clock_;
  Random& random_;
};

}  // namespace penstock::host
