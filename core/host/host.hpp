// Host: runs a set of plugins, with or without listeners.
//
//   auto checked = check_deployment(sources, Installation::of_this_program());
//   Host host(*checked.deployment, log, routes, end_the_process);
//   host.start(checked.deployment->plugins)      // load, configure, start, in order
//   host.service<orders::StockBooks>()
//   host.stop()                                  // in reverse
//
// Used by one thread, which is also the thread that every phase of every plugin runs on.
#pragma once

#include "host/deployment.hpp"
#include "host/lifecycle/watchdog.hpp"

#include "penstock/context.hpp"
#include "penstock/result.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace penstock::host {

class HealthRegistry;

class Host {
 public:
  // All references must outlive the host. `on_overrun` is called, from another thread, when a plugin
  // is still in a phase at that phase's deadline; it should not return (see end_process_on_overrun).
  Host(const Deployment& deployment, Logger& logger, HttpRoutes& routes, OverrunHandler on_overrun);
  ~Host();  // stops what still runs
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Effect: opens the libraries, then configures and starts the plugins in the given order. When one
  // fails, those that had started are stopped again, in reverse, and all are destroyed.
  // Errors: the failing plugin's own error, or Internal; the message names plugin and phase.
  Result<void> start(std::span<const InstalledPlugin> plugins);

  // Effect: stops in reverse order, then destroys. Every plugin is stopped, also after another failed.
  // Errors: the first failure.
  Result<void> stop();

  // A service of a started plugin. Asking for one that none of them provides throws std::logic_error.
  template <class Interface>
  Interface& service() {
    return *static_cast<Interface*>(service_raw(Interface::kServiceName));
  }

  Metrics& metrics();
  HealthRegistry& health();

 private:
  void* service_raw(std::string_view name);

  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock::host
