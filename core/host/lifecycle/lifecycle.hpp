// Lifecycle: takes plugins through configure, start, stop and destroy, each step timed by a watchdog.
//
// All steps run on the caller's thread, one after the other. Whatever a plugin does, the outcome is a
// Result: its exceptions end here.
#pragma once

#include "host/lifecycle/watchdog.hpp"

#include "penstock/context.hpp"
#include "penstock/logger.hpp"
#include "penstock/plugin.hpp"
#include "penstock/result.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace penstock::host {

struct LifecycleLimits {
  Milliseconds configure{5'000};  // also for the constructor
  Milliseconds start{60'000};
  Milliseconds stop{10'000};  // also for the destructor
};

// One plugin to run. The context outlives it.
struct PluginEntry {
  std::string name;
  std::filesystem::path library;  // for messages
  const PluginExport* exports = nullptr;
  Context* context = nullptr;
  // What its manifest promises and it has not provided; asked after configure.
  std::function<std::vector<std::string>()> missing_services;
};

class Lifecycle {
 public:
  Lifecycle(LifecycleLimits limits, Logger& logger, OverrunHandler on_overrun);
  ~Lifecycle();  // stops and destroys what is left
  Lifecycle(const Lifecycle&) = delete;
  Lifecycle& operator=(const Lifecycle&) = delete;

  // Effect: creates and configures every plugin, then starts them in the given order, up to the first
  // failure. What was started then still runs: the owner closes its listeners, then calls stop().
  // Errors: the plugin's own code, or Internal for an exception.
  Result<void> start(std::vector<PluginEntry> plugins);

  // Effect: stops those whose start was called, in reverse, then destroys all, in reverse. Goes on
  // after a failure; returns the first.
  Result<void> stop();

 private:
  struct Running;
  struct Phase;

  Result<void> configure_all();
  Result<void> start_all();
  Result<void> step(const PluginEntry& entry, const Phase& phase, const std::function<Result<void>()>& work);
  Result<void> configure(Running& running);
  Result<void> start_one(Running& running);
  Result<void> stop_one(Running& running);
  Result<void> destroy_one(Running& running);

  const LifecycleLimits limits_;
  Logger& logger_;
  std::vector<std::unique_ptr<Running>> plugins_;  // in start order
  Watchdog watchdog_;
};

}  // namespace penstock::host
