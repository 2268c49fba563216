// MemoryQueue: one queue: messages waiting by due time, leased batches, parked messages.
//
// An id is in a queue at most once: publishing it again while it is there changes nothing.
// Due times and leases are counted by the steady clock. Thread-safe; never blocks for long.
#pragma once

#include "penstock/delivery_loop.hpp"
#include "penstock/transport.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <unordered_set>

namespace penstock::transport_memory {

class MemoryQueue {
 public:
  MemoryQueue(QueueSpec spec, std::size_t max_messages, Clock& clock)
      : spec_(std::move(spec)), max_messages_(max_messages), clock_(clock) {}

  const QueueSpec& spec() const { return spec_; }
  const std::shared_ptr<WakeUp>& wake_up() const { return wake_up_; }

  // Caller holds the transport's lock on bindings. Effect: one more routing key.
  void bind(const std::string& routing_key) { spec_.routing_keys.push_back(routing_key); }

  bool full() const;
  void add(const Message& message);

  Result<LeasedBatch> exchange(const std::optional<SettledBatch>& settled, std::size_t max_next,
                               Milliseconds lease);
  void hand_back(const LeaseToken& token);

  QueueDepth depth() const;

  std::vector<DeadLetter> dead(std::size_t limit) const;
  ReplayOutcome replay(const EventId& id);
  bool drop(const EventId& id);

 private:
  struct Entry {
    Message message;
    TimePoint published_at{};
    std::uint32_t attempts = 0;
    bool alone = false;  // delivered in no batch with others
  };
  struct Lease {
    Deadline until;
    std::vector<Entry> entries;
  };
  struct Parked {
    Entry entry;
    std::string reason;
    TimePoint parked_at{};
  };

  void settle(const SettledBatch& settled);
  void apply(Entry entry, const Verdict& verdict);
  void reclaim_expired();
  void reclaim(Entry entry);
  LeasedBatch lease_due(std::size_t max_next, Milliseconds lease);
  std::vector<Entry> take_due(std::size_t max_next);
  std::optional<Milliseconds> next_in() const;
  void wait(Entry entry, Deadline due);
  void wait_alone(Entry entry, Deadline due);
  void park(Entry entry, std::string reason);
  std::deque<Parked>::iterator find_parked(const EventId& id);

  QueueSpec spec_;
  const std::size_t max_messages_;
  Clock& clock_;
  const std::shared_ptr<WakeUp> wake_up_ = std::make_shared<WakeUp>();

  mutable std::mutex mutex_;
  std::uint64_t sequence_ = 0;
  std::multimap<Deadline, Entry> waiting_;  // equal due times keep the order of arrival
  std::map<LeaseToken, Lease> leased_;
  std::deque<Parked> parked_;  // oldest first
  std::unordered_set<EventId> ids_;
};

}  // namespace penstock::transport_memory
