// Worker: one background thread that repeats a step: the loop under every stage that polls.
//
// The step does a bounded piece of work and says when it wants to run again. wake() makes it run at
// once. A step that fails or throws is logged (limited), backed off with doubling delays up to
// `max_back_off`, and tried again: a worker never dies and never spins.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/logger.hpp"
#include "penstock/result.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace penstock {

struct WorkerSettings {
  std::string name;  // in log lines and as the thread's name (first 15 bytes)
  Milliseconds first_back_off{50};
  Milliseconds max_back_off{5'000};
};

class Worker {
 public:
  // How long to wait before the next step; zero means: there is more to do now.
  using Step = std::function<Result<Milliseconds>()>;

  Worker(WorkerSettings settings, Logger& logger, Step step);
  ~Worker();  // stops and waits for the running step
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Effect: the next step starts now, or right after the running one. Thread-safe, never blocks.
  void wake();
  // Effect: no further step starts; waits for the running one. False when it was still running at
  // the deadline (the destructor then waits for it). Thread-safe.
  [[nodiscard]] bool stop(Deadline deadline);
  // True from the first call of stop(): a long step looks here to end early. Thread-safe.
  bool stopping() const;

 private:
  void run();
  Milliseconds step_once(Milliseconds& back_off);

  const WorkerSettings settings_;
  Logger& logger_;
  const Step step_;
  LogLimit failures_{std::chrono::seconds(5)};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool stopping_ = false;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace penstock
