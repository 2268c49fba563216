#include "penstock/worker.hpp"

#include <pthread.h>

#include <algorithm>

namespace penstock {

Worker::Worker(WorkerSettings settings, Logger& logger, Step step)
    : settings_(std::move(settings)), logger_(logger), step_(std::move(step)), thread_([this] { run(); }) {}

Worker::~Worker() {
  static_cast<void>(stop(Deadline::max()));
  thread_.join();
}

void Worker::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool Worker::stop(Deadline deadline) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  const auto finished = [this] { return finished_; };
  if (deadline == Deadline::max()) {
    changed_.wait(lock, finished);
    return true;
  }
  return changed_.wait_until(lock, deadline, finished);
}

bool Worker::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Worker::run() {
  pthread_setname_np(pthread_self(), settings_.name.substr(0, 15).c_str());
  Milliseconds back_off = settings_.first_back_off;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    woken_ = false;
    lock.unlock();
    const auto pause = step_once(back_off);
    lock.lock();
    changed_.wait_for(lock, pause, [this] { return stopping_ || woken_; });
  }
  finished_ = true;
  changed_.notify_all();
}

Milliseconds Worker::step_once(Milliseconds& back_off) {
  std::string failure;
  try {
    const auto pause = step_();
    if (pause.ok()) {
      back_off = settings_.first_back_off;
      return *pause;
    }
    failure = pause.error().message;
  } catch (const std::exception& exception) {
    failure = exception.what();
  } catch (...) {
    failure = "threw something that is no std::exception";
  }
  const auto pause = back_off;
  back_off = std::min(back_off * 2, settings_.max_back_off);
  if (std::uint64_t suppressed = 0; failures_.pass(suppressed)) {
    logger_.warn("worker_step_failed", {{"worker", settings_.name},
                                        {"reason", failure},
                                        {"next_try_in_ms", pause.count()},
                                        {"suppressed", suppressed}});
  }
  return pause;
}

}  // namespace penstock
