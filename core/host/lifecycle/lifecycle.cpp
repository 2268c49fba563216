#include "host/lifecycle/lifecycle.hpp"

#include "host/problem.hpp"

#include <Poco/Exception.h>

namespace penstock::host {

struct Lifecycle::Running {
  PluginEntry entry;
  Plugin* plugin = nullptr;
  bool start_called = false;
};

struct Lifecycle::Phase {
  std::string_view name;
  Milliseconds allowed;
  std::string_view key;
};

namespace {

// A plugin that honours its deadline must be able to come back before the watchdog looks.
Deadline deadline_within(Milliseconds allowed) {
  return std::chrono::steady_clock::now() + allowed - allowed / 10;
}

Error phase_error(const PluginEntry& entry, std::string_view phase, ErrorCode code, std::string found,
                  std::string needed, std::string next) {
  return {code, to_text(Problem{entry.library.string(), "plugin " + entry.name + ", " + std::string(phase),
                                std::move(found), std::move(needed), std::move(next)})};
}

Error thrown(const PluginEntry& entry, std::string_view phase, const std::string& what) {
  return phase_error(entry, phase, ErrorCode::Internal, "an exception, " + host::quoted(what),
                     "a phase that answers with a Result",
                     "report this to the plugin's author, or remove it from `plugins`");
}

Error failed(const PluginEntry& entry, std::string_view phase, const Error& error) {
  return phase_error(
      entry, phase, error.code, std::string(to_string(error.code)) + ", " + host::quoted(error.message),
      "a phase that succeeds",
      error.retry() == Retry::No ? "correct what the message names" : "see to it, then try again");
}

void keep_first(Result<void>& first, Result<void> next) {
  if (first.ok() && !next.ok()) first = std::move(next);
}

}  // namespace

Lifecycle::Lifecycle(LifecycleLimits limits, Logger& logger, OverrunHandler on_overrun)
    : limits_(limits), logger_(logger), watchdog_(std::move(on_overrun)) {}

Lifecycle::~Lifecycle() {
  static_cast<void>(stop());
}

Result<void> Lifecycle::start(std::vector<PluginEntry> plugins) {
  for (auto& entry : plugins) plugins_.push_back(std::make_unique<Running>(Running{std::move(entry)}));
  const auto result = configure_all();
  return result ? start_all() : result;
}

Result<void> Lifecycle::configure_all() {
  for (auto& running : plugins_) {
    if (auto result = configure(*running); !result) return result;
  }
  return {};
}

Result<void> Lifecycle::start_all() {
  for (auto& running : plugins_) {
    if (auto result = start_one(*running); !result) return result;
  }
  return {};
}

Result<void> Lifecycle::stop() {
  Result<void> first;
  for (auto running = plugins_.rbegin(); running != plugins_.rend(); ++running) {
    if ((*running)->start_called) keep_first(first, stop_one(**running));
  }
  for (auto running = plugins_.rbegin(); running != plugins_.rend(); ++running) {
    if ((*running)->plugin) keep_first(first, destroy_one(**running));
  }
  plugins_.clear();
  return first;
}

Result<void> Lifecycle::configure(Running& running) {
  const Phase phase{"configure", limits_.configure, "lifecycle.configure_ms"};
  const auto created = step(running.entry, phase, [&]() -> Result<void> {
    running.plugin = running.entry.exports->create();
    if (!running.plugin) return Error{ErrorCode::Internal, "create() returned no plugin"};
    return running.plugin->configure(*running.entry.context);
  });
  if (!created) return created;
  const auto missing = running.entry.missing_services();
  if (missing.empty()) return {};
  return phase_error(running.entry, phase.name, ErrorCode::Internal,
                     "no service " + joined(missing) + ", which its manifest promises",
                     "a call of provide() for each of them", "report this to the plugin's author");
}

Result<void> Lifecycle::start_one(Running& running) {
  const auto begin = std::chrono::steady_clock::now();
  running.start_called = true;
  auto result = step(running.entry, {"start", limits_.start, "lifecycle.start_ms"},
                     [&] { return running.plugin->start(); });
  if (!result) return result;
  const auto took = std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - begin);
  logger_.info("plugin_started", {{"plugin", running.entry.name}, {"took_ms", took.count()}});
  return result;
}

Result<void> Lifecycle::stop_one(Running& running) {
  running.start_called = false;
  auto result = step(running.entry, {"stop", limits_.stop, "lifecycle.stop_ms"},
                     [&] { return running.plugin->stop(deadline_within(limits_.stop)); });
  if (result) logger_.info("plugin_stopped", {{"plugin", running.entry.name}});
  return result;
}

Result<void> Lifecycle::destroy_one(Running& running) {
  auto* plugin = std::exchange(running.plugin, nullptr);
  return step(running.entry, {"destroy", limits_.stop, "lifecycle.stop_ms"}, [&]() -> Result<void> {
    running.entry.exports->destroy(plugin);
    return {};
  });
}

Result<void> Lifecycle::step(const PluginEntry& entry, const Phase& phase,
                             const std::function<Result<void>()>& work) {
  const auto outcome = [&]() -> Result<void> {
    const Watchdog::Watch watch(watchdog_,
                                {entry.name, std::string(phase.name), phase.allowed, std::string(phase.key)});
    try {
      const auto result = work();
      if (result) return {};
      return failed(entry, phase.name, result.error());
    } catch (const Poco::Exception& exception) {
      return thrown(entry, phase.name, exception.displayText());
    } catch (const std::exception& exception) {
      return thrown(entry, phase.name, exception.what());
    } catch (...) {
      return thrown(entry, phase.name, "of a type that tells nothing");
    }
  }();
  if (!outcome) {
    logger_.error("plugin_failed",
                  {{"plugin", entry.name}, {"phase", phase.name}, {"error", outcome.error().message}});
  }
  return outcome;
}

}  // namespace penstock::host
