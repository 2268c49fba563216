#include "host/serve/signals.hpp"

#include "host/exit_status.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace penstock::host {
namespace {

// SIGUSR1 also tells the watch's own thread to look whether it is to end.
constexpr int kWatched[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1};

sigset_t watched_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kWatched) sigaddset(&set, number);
  return set;
}

bool ends_the_process(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGQUIT;
}

// The number of the signal that came; nothing at the deadline.
std::optional<int> next_signal(std::optional<Deadline> deadline) {
  const auto set = watched_set();
  for (;;) {
    if (!deadline) {
      const int number = sigwaitinfo(&set, nullptr);
      if (number > 0) return number;
      continue;
    }
    const auto left = *deadline - std::chrono::steady_clock::now();
    if (left <= Deadline::duration::zero()) return std::nullopt;
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    const timespec wait{static_cast<time_t>(nanoseconds / 1'000'000'000),
                        static_cast<long>(nanoseconds % 1'000'000'000)};
    const int number = sigtimedwait(&set, nullptr, &wait);
    if (number > 0) return number;
  }
}

}  // namespace

void block_signals() {
  auto set = watched_set();
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void unblock_signals() {
  const auto set = watched_set();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

SignalWatch::SignalWatch(Logger& logger, Milliseconds limit)
    : logger_(logger), limit_(limit), thread_([this] { run(); }) {}

SignalWatch::~SignalWatch() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void SignalWatch::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return asked_; });
}

bool SignalWatch::asked_to_stop() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

void SignalWatch::run() {
  std::optional<Deadline> deadline;
  for (;;) {
    const auto number = next_signal(deadline);
    {
      const std::lock_guard lock(mutex_);
      if (finished_) return;
    }
    if (!number) {
      logger_.error("shutdown_overrun",
                    {{"allowed_ms", limit_.count()},
                     {"next", "the process ends now; raise lifecycle.drain_ms if it needs longer"}});
      _exit(kExitOverrun);
    }
    if (!ends_the_process(*number)) {
      logger_.info("signal_ignored", {{"signal", *number}});
    } else if (deadline) {
      logger_.warn("second_signal", {{"signal", *number}, {"next", "the process ends now"}});
      _exit(kExitSignalled + *number);
    } else {
      deadline = std::chrono::steady_clock::now() + limit_;
      first_signal(*number);
    }
  }
}

void SignalWatch::first_signal(int number) {
  logger_.info("shutdown_requested", {{"signal", number}, {"allowed_ms", limit_.count()}});
  const std::lock_guard lock(mutex_);
  asked_ = true;
  changed_.notify_all();
}

}  // namespace penstock::host
