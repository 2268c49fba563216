// QueueConsumer: keeps one subscription, from the moment the queue can be subscribed to. A transport
// that is away, or a queue that nobody has declared yet, is no failure: the consumer keeps trying with
// back-off and says so through its health probe, which bears the queue's name.
//
// stop() must be called before destruction; the handler must outlive the object.
#pragma once

#include "penstock/context.hpp"
#include "penstock/transport.hpp"
#include "penstock/worker.hpp"

#include <memory>
#include <mutex>

namespace penstock {

class QueueConsumer {
 public:
  // Starts trying at once, on its own thread.
  QueueConsumer(Context& context, Transport& transport, SubscribeOptions options, DeliveryHandler handler);
  QueueConsumer(const QueueConsumer&) = delete;
  QueueConsumer& operator=(const QueueConsumer&) = delete;

  // Effect: no new handler call starts; waits for the running ones. What was delivered but not settled
  // goes back to its queue. Errors: Timeout when a handler still ran at the deadline.
  Result<void> stop(Deadline deadline);

 private:
  Result<Milliseconds> subscribe_once();

  Transport& transport_;
  const SubscribeOptions options_;
  const DeliveryHandler handler_;
  const std::unique_ptr<HealthProbe> probe_;
  std::mutex mutex_;
  std::unique_ptr<Subscription> subscription_;
  Worker worker_;  // last: its thread uses all of the above
};

}  // namespace penstock
