// Transport: moves events between the stages, at least once.
//
// *Confirmed* means durable at the transport; *delivered* means a handler was given it; *settled*
// means the transport forgot it (done), will deliver it again (retry) or parked it (dead). A message
// may be delivered twice; its effect is made single by whoever handles it, by message id.
//
// Thread rule: all methods are thread-safe. publish() and declare() block up to their deadline.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/ids.hpp"
#include "penstock/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock {

struct QueueSpec {
  QueueName name;
  std::vector<std::string> routing_keys;  // exact routing keys whose messages it receives
  // Deliveries of one message before it is parked. Counted before the handler runs, so a message
  // that kills its process is parked too.
  std::uint32_t max_attempts = 5;
};

struct Topology {
  std::vector<QueueSpec> queues;
};

struct Message {
  EventId id;
  std::string routing_key;
  std::string body;       // UTF-8 JSON
  std::string trace;      // W3C traceparent, may be empty
  Milliseconds delay{0};  // earliest delivery, from the moment of publishing
};

enum class PublishOutcome {
  Confirmed,  // durable in every bound queue
  Returned,   // no queue is bound to the routing key: a failure, nothing was stored   retry: yes, later
  Refused,    // the transport said no: too large, queue full, broken                  retry: yes, later
  Unknown,    // sent, never confirmed: publish again under the same id                retry: outcome unknown
};

struct PublishAnswer {
  PublishOutcome outcome = PublishOutcome::Unknown;
  std::string detail;  // Confirmed: evidence for the outbox row; otherwise the reason
};

struct Delivery {
  EventId id;
  std::string routing_key;
  std::string body;
  std::string trace;
  std::uint32_t attempt = 1;  // 1 for the first delivery
  TimePoint published_at{};
};

struct Done {};
struct RetryLater {
  Milliseconds after{0};
  std::string reason;
};
struct Dead {
  std::string reason;
};
using Settlement = std::variant<Done, RetryLater, Dead>;

// One settlement per delivery, in order. A handler that throws, or answers another number, has all
// its deliveries retried with back-off.
using DeliveryHandler = std::function<std::vector<Settlement>(std::span<const Delivery>)>;

struct SubscribeOptions {
  QueueName queue;
  std::uint32_t max_batch = 500;  // deliveries per handler call
  std::uint32_t concurrency = 1;  // handler calls at the same time
  Milliseconds lease{30'000};     // a delivery not settled by then is given to somebody else
};

// Delivers until destroyed or stopped. stop(): no new handler call starts; waits for the running
// ones up to the deadline; what was delivered but not settled goes back to its queue.
class Subscription {
 public:
  virtual ~Subscription() = default;  // stops with no deadline of its own: call stop() first
  virtual Result<void> stop(Deadline deadline) = 0;
};

struct QueueDepth {
  std::uint64_t ready = 0;    // waiting, due now
  std::uint64_t delayed = 0;  // waiting for their time
  std::uint64_t unacked = 0;  // delivered, not settled
  std::uint64_t dead = 0;     // parked
  Milliseconds oldest{0};     // age of the oldest ready message
};

struct TransportTraits {
  bool durable = true;           // a confirmed message survives kill -9 of everything
  bool survives_restart = true;  // of this process
  bool delays = true;
  bool delivers_across_processes = true;
};

class Transport {
 public:
  static constexpr std::string_view kServiceName = "transport";
  virtual ~Transport() = default;

  virtual TransportTraits traits() const = 0;

  // Effect: creates what is missing; what exists already must agree. Idempotent.
  // Errors: Conflict names the queue, the setting and both values; Unavailable.
  virtual Result<void> declare(const Topology& topology) = 0;

  // One answer per message, in order; one bad message never fails its neighbours.
  virtual std::vector<PublishAnswer> publish(std::span<const Message> messages, Deadline deadline) = 0;

  // Effect: starts calling `handler` on threads of the transport. The handler must outlive the
  // subscription. Errors: NotFound when the queue was never declared.
  [[nodiscard]] virtual Result<std::unique_ptr<Subscription>> subscribe(const SubscribeOptions& options,
                                                                        DeliveryHandler handler) = 0;

  // Errors: NotFound, Unavailable.
  virtual Result<QueueDepth> depth(const QueueName& queue) = 0;
};

struct DeadLetter {
  EventId id;
  QueueName queue;
  std::string routing_key;
  std::string body;
  std::string reason;
  std::uint32_t attempts = 0;
  TimePoint parked_at{};
};

enum class ReplayOutcome {
  Replayed,  // back in its queue, attempts counted from 1 again
  NotDead,   // not parked: unknown, dropped, or already being replayed; nothing changed
};

// Parked messages. An optional ability of a transport, provided beside it.
class DeadLetters {
 public:
  static constexpr std::string_view kServiceName = "dead_letters";
  virtual ~DeadLetters() = default;
  // Oldest first, at most `limit`.
  virtual Result<std::vector<DeadLetter>> list(const QueueName& queue, std::size_t limit) = 0;
  // Atomic per message: of two replays at once, one answers NotDead.
  virtual Result<ReplayOutcome> replay(const QueueName& queue, const EventId& id) = 0;
  // Effect: deletes a parked message for good; false when it was not parked.
  virtual Result<bool> drop(const QueueName& queue, const EventId& id) = 0;
};

}  // namespace penstock
