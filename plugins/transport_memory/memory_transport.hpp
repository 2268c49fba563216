// MemoryTransport: queues in this process's memory. Not durable: *confirmed* lasts as long as the
// process does. For tests and demonstrations.
#pragma once

#include "transport_memory/memory_queue.hpp"

#include <shared_mutex>

namespace penstock::transport_memory {

struct MemoryTransportSettings {
  std::size_t max_body_bytes;
  std::size_t max_queue_messages;
  Milliseconds poll;
  BackOff back_off;
};

class MemoryTransport : public Transport, public DeadLetters {
 public:
  MemoryTransport(MemoryTransportSettings settings, Clock& clock, Random& random, Logger& logger)
      : settings_(settings), clock_(clock), random_(random), logger_(logger) {}

  TransportTraits traits() const override {
    return {.durable = false, .survives_restart = false, .delays = true, .delivers_across_processes = false};
  }
  Result<void> declare(const Topology& topology) override;
  std::vector<PublishAnswer> publish(std::span<const Message> messages, Deadline deadline) override;
  [[nodiscard]] Result<std::unique_ptr<Subscription>> subscribe(const SubscribeOptions& options,
                                                                DeliveryHandler handler) override;
  Result<QueueDepth> depth(const QueueName& queue) override;

  Result<std::vector<DeadLetter>> list(const QueueName& queue, std::size_t limit) override;
  Result<ReplayOutcome> replay(const QueueName& queue, const EventId& id) override;
  Result<bool> drop(const QueueName& queue, const EventId& id) override;

 private:
  using Queue = std::shared_ptr<MemoryQueue>;

  void create_or_extend(const QueueSpec& declared);
  PublishAnswer publish_one(const Message& message);
  Result<Queue> find(const QueueName& name) const;

  const MemoryTransportSettings settings_;
  Clock& clock_;
  Random& random_;
  Logger& logger_;

  mutable std::shared_mutex mutex_;  // of what is declared; each queue has its own
  std::map<QueueName, Queue> queues_;
  std::map<std::string, std::vector<Queue>, std::less<>> bindings_;  // by routing key
};

}  // namespace penstock::transport_memory
