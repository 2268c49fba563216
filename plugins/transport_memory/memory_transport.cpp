#include "transport_memory/memory_transport.hpp"

#include "penstock/message_check.hpp"
#include "penstock/topology_check.hpp"

#include <algorithm>

namespace penstock::transport_memory {
namespace {

class QueueSource : public DeliverySource {
 public:
  QueueSource(std::shared_ptr<MemoryQueue> queue, Milliseconds lease)
      : queue_(std::move(queue)), lease_(lease) {}
  Result<LeasedBatch> exchange(const std::optional<SettledBatch>& settled, std::size_t max_next) override {
    return queue_->exchange(settled, max_next, lease_);
  }
  Result<void> hand_back(const LeaseToken& token) override {
    queue_->hand_back(token);
    return {};
  }

 private:
  const std::shared_ptr<MemoryQueue> queue_;
  const Milliseconds lease_;
};

}  // namespace

Result<void> MemoryTransport::declare(const Topology& topology) {
  if (auto sound = check_topology(topology); !sound) return sound;
  const std::unique_lock lock(mutex_);
  for (const auto& declared : topology.queues) {
    const auto existing = queues_.find(declared.name);
    if (existing == queues_.end()) continue;
    if (auto agrees = check_agreement(existing->second->spec(), declared); !agrees) return agrees;
  }
  for (const auto& declared : topology.queues) create_or_extend(declared);
  return {};
}

void MemoryTransport::create_or_extend(const QueueSpec& declared) {
  auto& queue = queues_[declared.name];
  if (!queue) {
    const QueueSpec unbound{declared.name, {}, declared.max_attempts};
    queue = std::make_shared<MemoryQueue>(unbound, settings_.max_queue_messages, clock_);
  }
  for (const auto& key : declared.routing_keys) {
    const auto& bound = queue->spec().routing_keys;
    if (std::find(bound.begin(), bound.end(), key) != bound.end()) continue;
    queue->bind(key);
    bindings_[key].push_back(queue);
  }
}

std::vector<PublishAnswer> MemoryTransport::publish(std::span<const Message> messages, Deadline) {
  std::vector<PublishAnswer> answers;
  answers.reserve(messages.size());
  const std::shared_lock lock(mutex_);
  for (const auto& message : messages) answers.push_back(publish_one(message));
  return answers;
}

PublishAnswer MemoryTransport::publish_one(const Message& message) {
  if (auto problem = problem_of(message, settings_.max_body_bytes); !problem.empty()) {
    return {PublishOutcome::Refused, problem};
  }
  const auto bound = bindings_.find(message.routing_key);
  if (bound == bindings_.end()) {
    return {PublishOutcome::Returned, "no queue is bound to routing key " + message.routing_key};
  }
  std::string evidence;
  for (const auto& queue : bound->second) {
    if (queue->full()) return {PublishOutcome::Refused, "queue " + queue->spec().name.str() + " is full"};
    evidence += (evidence.empty() ? "in memory of " : ", ") + queue->spec().name.str();
  }
  for (const auto& queue : bound->second) queue->add(message);
  return {PublishOutcome::Confirmed, evidence};
}

Result<std::unique_ptr<Subscription>> MemoryTransport::subscribe(const SubscribeOptions& options,
                                                                 DeliveryHandler handler) {
  auto queue = find(options.queue);
  if (!queue) return queue.error();
  const DeliveryLoopSettings settings{.queue = options.queue.str(),
                                      .max_batch = std::max(1U, options.max_batch),
                                      .concurrency = options.concurrency,
                                      .max_attempts = (*queue)->spec().max_attempts,
                                      .poll = settings_.poll,
                                      .back_off = settings_.back_off};
  return std::unique_ptr<Subscription>(
      std::make_unique<DeliveryLoop>(settings, std::make_unique<QueueSource>(*queue, options.lease),
                                     (*queue)->wake_up(), std::move(handler), logger_, random_));
}

Result<MemoryTransport::Queue> MemoryTransport::find(const QueueName& name) const {
  const std::shared_lock lock(mutex_);
  const auto found = queues_.find(name);
  if (found == queues_.end()) return no_such_queue(name);
  return found->second;
}

Result<QueueDepth> MemoryTransport::depth(const QueueName& name) {
  const auto queue = find(name);
  if (!queue) return queue.error();
  return (*queue)->depth();
}

Result<std::vector<DeadLetter>> MemoryTransport::list(const QueueName& name, std::size_t limit) {
  const auto queue = find(name);
  if (!queue) return queue.error();
  return (*queue)->dead(limit);
}

Result<ReplayOutcome> MemoryTransport::replay(const QueueName& name, const EventId& id) {
  const auto queue = find(name);
  if (!queue) return queue.error();
  return (*queue)->replay(id);
}

Result<bool> MemoryTransport::drop(const QueueName& name, const EventId& id) {
  const auto queue = find(name);
  if (!queue) return queue.error();
  return (*queue)->drop(id);
}

}  // namespace penstock::transport_memory
