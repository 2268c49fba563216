// Watchdog: notices when a step is still running at its deadline.
//
// The step runs on the caller's thread, so nothing can interrupt it: all that is left is to say who
// it is and to end the process. What was committed is safe; what was not, was never promised.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/logger.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace penstock::host {

struct Overrun {
  std::string plugin;
  std::string phase;
  Milliseconds allowed{0};
  std::string key;  // the configuration key that sets the limit
};

// Called on the watchdog's thread, once per overrun.
using OverrunHandler = std::function<void(const Overrun&)>;

// Logs the culprit and ends the process at once with kExitOverrun, without destructors: the hung
// thread may hold any lock. `logger` must outlive the handler.
OverrunHandler end_process_on_overrun(Logger& logger);

class Watchdog {
 public:
  explicit Watchdog(OverrunHandler on_overrun);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // From construction to destruction of a Watch, its step is being timed. One at a time.
  class [[nodiscard]] Watch {
   public:
    Watch(Watchdog& watchdog, Overrun step);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Watchdog& watchdog_;
  };

 private:
  void run();

  const OverrunHandler on_overrun_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool watching_ = false;
  Overrun step_;
  Deadline deadline_{};
  std::thread thread_;
};

}  // namespace penstock::host
