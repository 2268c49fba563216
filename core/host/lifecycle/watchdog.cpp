#include "host/lifecycle/watchdog.hpp"

#include "host/exit_status.hpp"

#include <unistd.h>

namespace penstock::host {

OverrunHandler end_process_on_overrun(Logger& logger) {
  return [&logger](const Overrun& overrun) {
    logger.error("plugin_overrun", {{"plugin", overrun.plugin},
                                    {"phase", overrun.phase},
                                    {"allowed_ms", overrun.allowed.count()},
                                    {"next", "the process ends now; raise " + overrun.key +
                                                 " if the plugin needs longer, or report it to its author"}});
    _exit(kExitOverrun);
  };
}

Watchdog::Watchdog(OverrunHandler on_overrun)
    : on_overrun_(std::move(on_overrun)), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Watchdog::Watch::Watch(Watchdog& watchdog, Overrun step) : watchdog_(watchdog) {
  {
    const std::lock_guard lock(watchdog_.mutex_);
    watchdog_.deadline_ = std::chrono::steady_clock::now() + step.allowed;
    watchdog_.step_ = std::move(step);
    watchdog_.watching_ = true;
  }
  watchdog_.changed_.notify_all();
}

Watchdog::Watch::~Watch() {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.watching_ = false;
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!watching_) {
      changed_.wait(lock);
    } else if (std::chrono::steady_clock::now() < deadline_) {
      changed_.wait_until(lock, deadline_);
    } else {
      watching_ = false;
      const auto step = step_;
      lock.unlock();
      on_overrun_(step);
      lock.lock();
    }
  }
}

}  // namespace penstock::host
