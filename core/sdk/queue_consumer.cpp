#include "penstock/queue_consumer.hpp"

namespace penstock {
namespace {

// Whoever declares the queue may start after us: that is no failure, and worth no line in the log.
constexpr Milliseconds kUndeclared{100};
// Once subscribed there is nothing left to try; the transport itself survives its connections.
constexpr Milliseconds kNeverAgain = std::chrono::hours(24);

}  // namespace

QueueConsumer::QueueConsumer(Context& context, Transport& transport, SubscribeOptions options,
                             DeliveryHandler handler)
    : transport_(transport),
      options_(std::move(options)),
      handler_(std::move(handler)),
      probe_(context.health().probe(options_.queue.str())),
      worker_({.name = "subscribe"}, context.logger(), [this] { return subscribe_once(); }) {}

Result<Milliseconds> QueueConsumer::subscribe_once() {
  const std::lock_guard lock(mutex_);
  if (subscription_) return kNeverAgain;
  auto subscription = transport_.subscribe(options_, handler_);
  if (!subscription) {
    probe_->not_ready(subscription.error().message);
    if (subscription.error().code == ErrorCode::NotFound) return kUndeclared;
    return subscription.error();
  }
  subscription_ = std::move(*subscription);
  probe_->ready();
  return kNeverAgain;
}

Result<void> QueueConsumer::stop(Deadline deadline) {
  if (!worker_.stop(deadline)) {
    return Error{ErrorCode::Timeout, "still subscribing to " + options_.queue.str() + " at the deadline"};
  }
  const std::lock_guard lock(mutex_);
  if (!subscription_) return {};
  auto stopped = subscription_->stop(deadline);
  subscription_.reset();
  return stopped;
}

}  // namespace penstock
