// A transport that does what the test says: every call can be answered by a hook, and what was asked
// is kept. Without hooks everything works: declared, confirmed, subscribed. Set the hooks before the
// calls start.
#pragma once

#include "penstock/transport.hpp"

#include <map>
#include <mutex>

namespace penstock::testkit {

class FakeTransport : public Transport {
 public:
  std::function<Result<void>(const Topology&)> on_declare;
  std::function<PublishAnswer(const Message&)> on_publish;
  std::function<Result<void>(const QueueName&)> on_subscribe;
  std::function<Result<QueueDepth>(const QueueName&)> on_depth;

  TransportTraits traits() const override { return {}; }

  Result<void> declare(const Topology& topology) override {
    const std::lock_guard lock(mutex_);
    ++declared_;
    return on_declare ? on_declare(topology) : Result<void>();
  }

  std::vector<PublishAnswer> publish(std::span<const Message> messages, Deadline) override {
    const std::lock_guard lock(mutex_);
    published_.insert(published_.end(), messages.begin(), messages.end());
    std::vector<PublishAnswer> answers;
    for (const auto& message : messages) {
      answers.push_back(on_publish ? on_publish(message) : PublishAnswer{PublishOutcome::Confirmed, "fake"});
    }
    return answers;
  }

  [[nodiscard]] Result<std::unique_ptr<Subscription>> subscribe(const SubscribeOptions& options,
                                                                DeliveryHandler handler) override {
    const std::lock_guard lock(mutex_);
    if (on_subscribe) {
      if (auto allowed = on_subscribe(options.queue); !allowed) return allowed.error();
    }
    handlers_[options.queue] = std::move(handler);
    return std::unique_ptr<Subscription>(std::make_unique<Handle>(*this, options.queue));
  }

  Result<QueueDepth> depth(const QueueName& queue) override {
    const std::lock_guard lock(mutex_);
    return on_depth ? on_depth(queue) : QueueDepth{};
  }

  // Calls the queue's handler as a subscription would; empty when nobody is subscribed.
  std::vector<Settlement> deliver(const QueueName& queue, std::span<const Delivery> deliveries) {
    DeliveryHandler handler;
    {
      const std::lock_guard lock(mutex_);
      if (!handlers_.contains(queue)) return {};
      handler = handlers_[queue];
    }
    return handler(deliveries);
  }

  bool subscribed(const QueueName& queue) const {
    const std::lock_guard lock(mutex_);
    return handlers_.contains(queue);
  }
  int declared() const {
    const std::lock_guard lock(mutex_);
    return declared_;
  }
  std::vector<Message> published() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }

 private:
  class Handle : public Subscription {
   public:
    Handle(FakeTransport& transport, QueueName queue) : transport_(transport), queue_(std::move(queue)) {}
    ~Handle() override { static_cast<void>(stop(Deadline::max())); }
    Result<void> stop(Deadline) override {
      const std::lock_guard lock(transport_.mutex_);
      transport_.handlers_.erase(queue_);
      return {};
    }

   private:
    FakeTransport& transport_;
    const QueueName queue_;
  };

  mutable std::mutex mutex_;
  std::map<QueueName, DeliveryHandler> handlers_;
  std::vector<Message> published_;
  int declared_ = 0;
};

}  // namespace penstock::testkit
