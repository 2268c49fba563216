#include "penstock/delivery_loop.hpp"

#include "penstock/message_check.hpp"

#include <algorithm>
#include <exception>

namespace penstock {

void WakeUp::wake() {
  {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  woken_.notify_all();
}

std::uint64_t WakeUp::seen() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void WakeUp::wait(std::uint64_t seen, Milliseconds limit) {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, limit, [&] { return count_ != seen; });
}

DeliveryLoop::DeliveryLoop(DeliveryLoopSettings settings, std::unique_ptr<DeliverySource> source,
                           std::shared_ptr<WakeUp> wake_up, DeliveryHandler handler, Logger& logger,
                           Random& random)
    : settings_(std::move(settings)),
      source_(std::move(source)),
      wake_up_(std::move(wake_up)),
      handler_(std::move(handler)),
      logger_(logger),
      random_(random) {
  for (unsigned i = 0; i < std::max(1U, settings_.concurrency); ++i) {
    slots_.push_back(std::make_unique<Slot>());
  }
  for (auto& slot : slots_) slot->thread = std::thread([this, &slot = *slot] { run(slot); });
}

DeliveryLoop::~DeliveryLoop() {
  begin_stop();
  for (auto& slot : slots_) slot->thread.join();
}

void DeliveryLoop::run(Slot& slot) {
  std::optional<SettledBatch> settled;
  std::uint32_t failures = 0;
  for (bool last = false; !last;) {
    const auto seen = wake_up_->seen();
    last = stopping();
    if (last && !settled) break;
    auto next = source_->exchange(settled, last ? 0 : settings_.max_batch);
    if (!next) {
      report(next.error());
      if (!last) wake_up_->wait(seen, wait_before(++failures, settings_.back_off, random_));
      continue;
    }
    failures = 0;
    settled.reset();
    if (!next->deliveries.empty()) {
      settled = handle(slot, std::move(*next));
    } else if (!last) {
      wake_up_->wait(seen, std::min(next->next_in.value_or(settings_.poll), settings_.poll));
    }
  }
  const std::lock_guard lock(mutex_);
  slot.finished = true;
  changed_.notify_all();
}

// Nothing when the batch is not this thread's to settle: it was, or is now, handed back.
std::optional<SettledBatch> DeliveryLoop::handle(Slot& slot, LeasedBatch batch) {
  if (!enter(slot, batch.token)) {
    hand_back(batch.token);
    return std::nullopt;
  }
  auto verdicts = call_handler(batch.deliveries);
  if (!leave(slot)) return std::nullopt;
  return SettledBatch{std::move(batch), std::move(verdicts)};
}

bool DeliveryLoop::enter(Slot& slot, const LeaseToken& token) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  slot.handling = token;
  return true;
}

bool DeliveryLoop::leave(Slot& slot) {
  const std::lock_guard lock(mutex_);
  slot.handling.reset();
  return !slot.handed_back;
}

std::vector<Verdict> DeliveryLoop::call_handler(std::span<const Delivery> deliveries) {
  std::vector<Settlement> settlements;
  try {
    settlements = handler_(deliveries);
  } catch (const std::exception& exception) {
    return failed(deliveries, std::string("the handler threw: ") + exception.what());
  } catch (...) {
    return failed(deliveries, "the handler threw something that is no std::exception");
  }
  if (settlements.size() != deliveries.size()) {
    return failed(deliveries, "the handler settled " + std::to_string(settlements.size()) + " of " +
                                  std::to_string(deliveries.size()) + " deliveries");
  }
  std::vector<Verdict> verdicts;
  verdicts.reserve(deliveries.size());
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    verdicts.push_back(bounded(deliveries[i], settlements[i]));
  }
  return verdicts;
}

std::vector<Verdict> DeliveryLoop::failed(std::span<const Delivery> deliveries, const std::string& reason) {
  std::uint64_t suppressed = 0;
  if (handler_failures_.pass(suppressed)) {
    logger_.warn("handler_failed", {{"queue", settings_.queue},
                                    {"deliveries", deliveries.size()},
                                    {"reason", reason},
                                    {"suppressed", suppressed}});
  }
  std::vector<Verdict> verdicts;
  for (const auto& delivery : deliveries) {
    const auto after = wait_before(delivery.attempt, settings_.back_off, random_);
    if (deliveries.size() > 1)
      verdicts.push_back({VerdictKind::RetryAlone, after, storable_reason(reason)});
    else
      verdicts.push_back(bounded(delivery, RetryLater{after, reason}));
  }
  return verdicts;
}

Verdict DeliveryLoop::bounded(const Delivery& delivery, const Settlement& settlement) const {
  if (const auto* dead = std::get_if<Dead>(&settlement)) {
    return {VerdictKind::Dead, {}, storable_reason(dead->reason)};
  }
  const auto* retry = std::get_if<RetryLater>(&settlement);
  if (!retry) return {};
  if (delivery.attempt < settings_.max_attempts) {
    const auto after = std::clamp(retry->after, Milliseconds(0), kMaxDelay);
    return {VerdictKind::Retry, after, storable_reason(retry->reason)};
  }
  return {VerdictKind::Dead,
          {},
          storable_reason("gave up after " + std::to_string(delivery.attempt) +
                          " deliveries; the last said: " + retry->reason)};
}

void DeliveryLoop::report(const Error& error) {
  std::uint64_t suppressed = 0;
  if (!source_failures_.pass(suppressed)) return;
  logger_.warn("delivery_failed", {{"queue", settings_.queue},
                                   {"code", to_string(error.code)},
                                   {"reason", error.message},
                                   {"suppressed", suppressed}});
}

// When even this fails, the lease runs out by itself.
void DeliveryLoop::hand_back(const LeaseToken& token) {
  if (auto done = source_->hand_back(token); !done) report(done.error());
}

bool DeliveryLoop::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void DeliveryLoop::begin_stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_up_->wake();
}

Result<void> DeliveryLoop::stop(Deadline deadline) {
  begin_stop();
  std::vector<LeaseToken> overdue;
  {
    std::unique_lock lock(mutex_);
    const auto all_finished = [this] {
      return std::all_of(slots_.begin(), slots_.end(), [](const auto& slot) { return slot->finished; });
    };
    if (changed_.wait_until(lock, deadline, all_finished)) return {};
    for (auto& slot : slots_) {
      if (!slot->handling || slot->handed_back) continue;
      slot->handed_back = true;
      overdue.push_back(*slot->handling);
    }
  }
  for (const auto& token : overdue) hand_back(token);
  return Error{ErrorCode::Timeout,
               "queue " + settings_.queue + ": " + std::to_string(overdue.size()) +
                   " handler calls still ran at the deadline; their deliveries went back to the queue"};
}

}  // namespace penstock
