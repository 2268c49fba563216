// Lane: turns many small requests into few large commits, without waiting for company.
//
// A batch is whatever arrived while the previous batch was being worked on: one request when idle,
// hundreds under load. There is no timer, so an idle lane adds no latency; the bound on the batch
// keeps one commit short, the bound on the queue keeps memory flat and pushes back on the caller.
//
// submit() is thread-safe and never blocks. The handler and the completions run on the lane's own
// threads. A completion must not throw.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/metrics.hpp"
#include "penstock/result.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace penstock {

struct LaneSettings {
  std::string stage;  // the `stage` label of the lane's metrics
  std::size_t max_batch = 500;
  std::size_t max_queue = 10'000;
  unsigned workers = 1;  // batches in work at the same time
};

template <class Request, class Answer>
class Lane {
 public:
  // One answer per request, in order. Blocks for as long as the work takes. An exception, or another
  // number of answers, fails every request of the batch with Internal.
  using Handler = std::function<std::vector<Result<Answer>>(std::span<Request>)>;
  // Called exactly once per submitted request.
  using Completion = std::function<void(Result<Answer>)>;

  Lane(LaneSettings settings, Metrics& metrics, Handler handler)
      : settings_(std::move(settings)),
        handler_(std::move(handler)),
        batch_size_(metrics.histogram("penstock_batch_size", "Items per batch, by stage.",
                                      {{"stage", settings_.stage}}, kBatchBuckets)),
        depth_(metrics.gauge("penstock_lane_queue_length", "Requests waiting for their batch, by stage.",
                             {{"stage", settings_.stage}})),
        rejected_(metrics.counter("penstock_lane_rejected_total",
                                  "Requests refused because the lane was full, by stage.",
                                  {{"stage", settings_.stage}})) {
    threads_.reserve(settings_.workers);
    for (unsigned i = 0; i < settings_.workers; ++i) threads_.emplace_back([this] { run(); });
  }

  ~Lane() { drain(Deadline::max()); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // False when the queue is full or the lane is draining; then the completion is not called and the
  // caller sheds the request.
  [[nodiscard]] bool submit(Request request, Completion completion) {
    {
      const std::lock_guard lock(mutex_);
      if (draining_ || requests_.size() >= settings_.max_queue) {
        rejected_.increment();
        return false;
      }
      requests_.push_back(std::move(request));
      completions_.push_back(std::move(completion));
    }
    arrived_.notify_one();
    return true;
  }

  std::size_t queued() const {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }

  // Effect: refuses new requests, finishes those queued, joins the threads. Requests still queued at
  // the deadline complete with Closed; a batch in work is always finished.
  void drain(Deadline deadline) {
    {
      std::unique_lock lock(mutex_);
      draining_ = true;
      arrived_.notify_all();
      if (!wait_until_empty(lock, deadline)) {
        refuse_queued(lock);
      }
    }
    for (auto& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  void run() {
    std::vector<Request> batch;
    std::vector<Completion> completions;
    while (take(batch, completions)) {
      batch_size_.observe(static_cast<double>(batch.size()));
      auto answers = work(batch);
      for (std::size_t i = 0; i < completions.size(); ++i) completions[i](std::move(answers[i]));
      batch.clear();
      completions.clear();
    }
  }

  bool take(std::vector<Request>& batch, std::vector<Completion>& completions) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return draining_ || !requests_.empty(); });
    const auto count = std::min(requests_.size(), settings_.max_batch);
    if (count == 0) return false;
    std::move(requests_.begin(), requests_.begin() + count, std::back_inserter(batch));
    std::move(completions_.begin(), completions_.begin() + count, std::back_inserter(completions));
    requests_.erase(requests_.begin(), requests_.begin() + count);
    completions_.erase(completions_.begin(), completions_.begin() + count);
    depth_.set(static_cast<double>(requests_.size()));
    if (requests_.empty()) emptied_.notify_all();
    return true;
  }

  std::vector<Result<Answer>> work(std::vector<Request>& batch) {
    std::string failure = "a batch handler returned another number of answers than it was given";
    try {
      auto answers = handler_(std::span<Request>(batch));
      if (answers.size() == batch.size()) return answers;
    } catch (const std::exception& exception) {
      failure = exception.what();
    } catch (...) {
      failure = "a batch handler threw something that is no std::exception";
    }
    return std::vector<Result<Answer>>(batch.size(),
                                       Error{ErrorCode::Internal, settings_.stage + ": " + failure});
  }

  bool wait_until_empty(std::unique_lock<std::mutex>& lock, Deadline deadline) {
    const auto empty = [this] { return requests_.empty(); };
    if (deadline == Deadline::max()) {
      emptied_.wait(lock, empty);
      return true;
    }
    return emptied_.wait_until(lock, deadline, empty);
  }

  void refuse_queued(std::unique_lock<std::mutex>& lock) {
    requests_.clear();
    const auto abandoned = std::exchange(completions_, {});
    lock.unlock();
    for (const auto& completion : abandoned) {
      completion(Error{ErrorCode::Closed, settings_.stage + ": stopped before this request was worked on"});
    }
  }

  const LaneSettings settings_;
  const Handler handler_;
  Histogram& batch_size_;
  Gauge& depth_;
  Counter& rejected_;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable emptied_;
  std::deque<Request> requests_;
  std::deque<Completion> completions_;  // completions_[i] belongs to requests_[i]
  bool draining_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace penstock
