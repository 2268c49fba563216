// Host: runs a set of plugins, with or without listeners.
//
//   auto checked = check_deployment(sources, Installation::of_this_program());
//   Host host(*checked.deployment, {log, metrics, health, routes, end_process_on_overrun(log)});
//   host.load(checked.deployment->plugins)   // opens the libraries
//   host.start()                             // configure all, then start all, in order
//   host.service<orders::StockBooks>()
//   host.stop()                              // in reverse
//
// Used by one thread, which is also the thread that every phase of every plugin runs on.
#pragma once

#include "host/context/health_registry.hpp"
#include "host/context/log_sink.hpp"
#include "host/deployment.hpp"
#include "host/lifecycle/watchdog.hpp"

#include "penstock/context.hpp"
#include "penstock/result.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace penstock::host {

// What the plugins share; all of it outlives the host.
struct Surroundings {
  LogSink& log;
  Metrics& metrics;
  HealthRegistry& health;
  HttpRoutes& routes;
  // Called, from another thread, when a plugin is still in a phase at that phase's deadline. It is
  // not expected to return, see end_process_on_overrun.
  OverrunHandler on_overrun;
};

class Host {
 public:
  Host(const Deployment& deployment, Surroundings surroundings);
  ~Host();  // stops what still runs
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Effect: opens the libraries of these plugins of the deployment, which stand in start order; no
  // code of theirs runs beyond static initialisers. Call once. The result is what is wrong with them.
  [[nodiscard]] Problems load(std::span<const InstalledPlugin> plugins);

  // Effect: creates the data folder, then configures all plugins and starts them in order, up to the
  // first failure. What was started then still runs: close the listeners, then call stop().
  // Errors: the failing plugin's own code, or Internal when it threw; the message names its library,
  // the phase, what was found and needed, and the next step.
  Result<void> start();

  // Effect: stops what was started, in reverse order, then destroys all. Every plugin is stopped, also after
  // another failed. Idempotent. Errors: the first failure.
  Result<void> stop();

  // A service of a started plugin. Asking for one that none of them provides throws std::logic_error.
  template <class Interface>
  Interface& service() {
    return *static_cast<Interface*>(service_raw(Interface::kServiceName));
  }

 private:
  void* service_raw(std::string_view name);

  class Parts;
  std::unique_ptr<Parts> parts_;
};

// Routes for a host without listeners: takes them and forgets them.
class NoRoutes : public HttpRoutes {
 public:
  void add(HttpRoute) override {}
};

}  // namespace penstock::host
