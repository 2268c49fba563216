#include "transport_memory/memory_queue.hpp"

#include <algorithm>

namespace penstock::transport_memory {

bool MemoryQueue::full() const {
  const std::lock_guard lock(mutex_);
  return ids_.size() >= max_messages_;
}

void MemoryQueue::add(const Message& message) {
  {
    const std::lock_guard lock(mutex_);
    if (!ids_.insert(message.id).second) return;
    const auto delay = std::max(message.delay, Milliseconds(0));
    wait(Entry{message, clock_.now(), 0, false}, clock_.steady_now() + delay);
  }
  wake_up_->wake();
}

Result<LeasedBatch> MemoryQueue::exchange(const std::optional<SettledBatch>& settled, std::size_t max_next,
                                          Milliseconds lease) {
  const std::lock_guard lock(mutex_);
  if (settled) settle(*settled);
  if (max_next == 0) return LeasedBatch{};
  reclaim_expired();
  return lease_due(max_next, lease);
}

void MemoryQueue::settle(const SettledBatch& settled) {
  auto lease = leased_.extract(settled.batch.token);
  if (lease.empty()) return;  // it ran out: the messages are somebody else's
  auto& entries = lease.mapped().entries;
  for (std::size_t i = 0; i < entries.size(); ++i) apply(std::move(entries[i]), settled.verdicts[i]);
}

void MemoryQueue::apply(Entry entry, const Verdict& verdict) {
  const auto due = clock_.steady_now() + verdict.after;
  switch (verdict.kind) {
    case VerdictKind::Done: ids_.erase(entry.message.id); return;
    case VerdictKind::Dead: return park(std::move(entry), verdict.reason);
    case VerdictKind::RetryAlone: return wait_alone(std::move(entry), due);
    case VerdictKind::Retry: entry.alone = false; return wait(std::move(entry), due);
  }
}

void MemoryQueue::reclaim_expired() {
  const auto now = clock_.steady_now();
  for (auto lease = leased_.begin(); lease != leased_.end();) {
    if (lease->second.until > now) {
      ++lease;
      continue;
    }
    for (auto& entry : lease->second.entries) reclaim(std::move(entry));
    lease = leased_.erase(lease);
  }
}

void MemoryQueue::reclaim(Entry entry) {
  if (entry.alone && entry.attempts >= spec_.max_attempts) {
    park(std::move(entry), "gave up after " + std::to_string(entry.attempts) +
                               " deliveries; the last was not settled before its lease ran out");
  } else {
    wait_alone(std::move(entry), clock_.steady_now());
  }
}

LeasedBatch MemoryQueue::lease_due(std::size_t max_next, Milliseconds lease) {
  LeasedBatch batch;
  auto entries = take_due(max_next);
  if (entries.empty()) {
    batch.next_in = next_in();
    return batch;
  }
  batch.token = LeaseToken(std::to_string(++sequence_));
  for (auto& entry : entries) {
    ++entry.attempts;
    batch.deliveries.push_back({entry.message.id, entry.message.routing_key, entry.message.body,
                                entry.message.trace, entry.attempts, entry.published_at});
  }
  leased_.emplace(batch.token, Lease{clock_.steady_now() + lease, std::move(entries)});
  return batch;
}

std::vector<MemoryQueue::Entry> MemoryQueue::take_due(std::size_t max_next) {
  std::vector<Entry> taken;
  const auto now = clock_.steady_now();
  for (auto next = waiting_.begin();
       next != waiting_.end() && next->first <= now && taken.size() < max_next;) {
    if (next->second.alone && !taken.empty()) {
      ++next;
      continue;
    }
    const bool alone = next->second.alone;
    taken.push_back(std::move(next->second));
    next = waiting_.erase(next);
    if (alone) break;
  }
  return taken;
}

std::optional<Milliseconds> MemoryQueue::next_in() const {
  std::optional<Deadline> next;
  if (!waiting_.empty()) next = waiting_.begin()->first;
  for (const auto& [token, lease] : leased_) next = next ? std::min(*next, lease.until) : lease.until;
  if (!next) return std::nullopt;
  return std::max(Milliseconds(0), std::chrono::ceil<Milliseconds>(*next - clock_.steady_now()));
}

void MemoryQueue::wait(Entry entry, Deadline due) {
  waiting_.emplace(due, std::move(entry));
}

// Alone it gets at least one more delivery: the failures before may have been its neighbours'.
void MemoryQueue::wait_alone(Entry entry, Deadline due) {
  if (!entry.alone) entry.attempts = std::min(entry.attempts, spec_.max_attempts - 1);
  entry.alone = true;
  wait(std::move(entry), due);
}

void MemoryQueue::park(Entry entry, std::string reason) {
  parked_.push_back({std::move(entry), std::move(reason), clock_.now()});
}

void MemoryQueue::hand_back(const LeaseToken& token) {
  {
    const std::lock_guard lock(mutex_);
    auto lease = leased_.extract(token);
    if (lease.empty()) return;
    for (auto& entry : lease.mapped().entries) {
      --entry.attempts;
      wait(std::move(entry), clock_.steady_now());
    }
  }
  wake_up_->wake();
}

QueueDepth MemoryQueue::depth() const {
  const std::lock_guard lock(mutex_);
  const auto now = clock_.steady_now();
  QueueDepth depth;
  const auto first_delayed = waiting_.upper_bound(now);
  depth.ready = static_cast<std::uint64_t>(std::distance(waiting_.begin(), first_delayed));
  depth.delayed = waiting_.size() - depth.ready;
  depth.dead = parked_.size();
  if (depth.ready > 0) depth.oldest = std::chrono::floor<Milliseconds>(now - waiting_.begin()->first);
  for (const auto& [token, lease] : leased_) {
    (lease.until > now ? depth.unacked : depth.ready) += lease.entries.size();
  }
  return depth;
}

std::vector<DeadLetter> MemoryQueue::dead(std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<DeadLetter> letters;
  for (const auto& parked : parked_) {
    if (letters.size() == limit) break;
    const auto& message = parked.entry.message;
    letters.push_back({message.id, spec_.name, message.routing_key, message.body, parked.reason,
                       parked.entry.attempts, parked.parked_at});
  }
  return letters;
}

std::deque<MemoryQueue::Parked>::iterator MemoryQueue::find_parked(const EventId& id) {
  return std::find_if(parked_.begin(), parked_.end(),
                      [&](const Parked& parked) { return parked.entry.message.id == id; });
}

ReplayOutcome MemoryQueue::replay(const EventId& id) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = find_parked(id);
    if (found == parked_.end()) return ReplayOutcome::NotDead;
    auto entry = std::move(found->entry);
    parked_.erase(found);
    entry.attempts = 0;
    entry.alone = true;  // it has failed before
    wait(std::move(entry), clock_.steady_now());
  }
  wake_up_->wake();
  return ReplayOutcome::Replayed;
}

bool MemoryQueue::drop(const EventId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = find_parked(id);
  if (found == parked_.end()) return false;
  ids_.erase(id);
  parked_.erase(found);
  return true;
}

}  // namespace penstock::transport_memory
