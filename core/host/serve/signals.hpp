// Signals: a process that serves is ended by SIGTERM, SIGINT or SIGQUIT, and by no other.
//
// They are blocked before the first thread exists, so that every thread inherits it and only the
// watch's own thread ever sees them.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/logger.hpp"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace penstock::host {

// Call first in main(). Blocks what SignalWatch waits for, and SIGPIPE for good.
void block_signals();
// For commands that do not watch: the default actions again, except for SIGPIPE.
void unblock_signals();

class SignalWatch {
 public:
  // The first signal asks for the end and gives `limit` for it; then, or at a second signal, the
  // process ends at once. `logger` outlives the watch.
  SignalWatch(Logger& logger, Milliseconds limit);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Blocks until the first signal.
  void wait();
  bool asked_to_stop() const;

 private:
  void run();
  void first_signal(int number);

  Logger& logger_;
  const Milliseconds limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace penstock::host
