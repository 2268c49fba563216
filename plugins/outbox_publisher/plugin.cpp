#include "penstock/plugin.hpp"

#include "outbox_publisher/publisher.hpp"
#include "penstock/worker.hpp"

#include <optional>

namespace penstock::outbox_publisher {
namespace {

PublisherSettings read_settings(const Config& config) {
  PublisherSettings settings;
  settings.max_batch = static_cast<std::size_t>(config.integer("max_batch"));
  settings.poll = config.duration("poll_ms");
  settings.lease = config.duration("lease_ms");
  settings.publish_timeout = config.duration("publish_timeout_ms");
  settings.max_attempts = static_cast<std::uint32_t>(config.integer("max_attempts"));
  settings.retry = {config.duration("first_retry_ms"), config.duration("max_retry_ms")};
  settings.unknown_retry = config.duration("unknown_retry_ms");
  settings.queue_max_attempts = static_cast<std::uint32_t>(config.integer("queue_max_attempts"));
  return settings;
}

class OutboxPublisher : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context_ = &context;
    settings_ = read_settings(context.config());
    if (settings_.publish_timeout < settings_.lease) return {};
    return Error{ErrorCode::InvalidArgument,
                 "outbox_publisher.lease_ms is " + std::to_string(settings_.lease.count()) +
                     "; it must be more than outbox_publisher.publish_timeout_ms, which is " +
                     std::to_string(settings_.publish_timeout.count())};
  }

  Result<void> start() override {
    auto& store = context_->services().require<orders::OrderStore>();
    publisher_.emplace(settings_, *context_, store, context_->services().require<Transport>());
    // Queues with other settings need a person; a transport that is away needs patience.
    if (auto declared = publisher_->declare(); !declared && declared.error().code == ErrorCode::Conflict) {
      return declared;
    }
    worker_.emplace(WorkerSettings{.name = "outbox"}, context_->logger(),
                    [this] { return publisher_->step(); });
    watch_ = store.watch_outbox([this] { worker_->wake(); });
    return {};
  }

  Result<void> stop(Deadline deadline) override {
    watch_.reset();
    if (worker_ && !worker_->stop(deadline)) {
      return Error{ErrorCode::Timeout, "a batch was still being published at the deadline"};
    }
    worker_.reset();
    publisher_.reset();
    return {};
  }

 private:
  Context* context_ = nullptr;
  PublisherSettings settings_;
  std::optional<Publisher> publisher_;
  std::optional<Worker> worker_;
  std::unique_ptr<orders::OutboxWatch> watch_;
};

}  // namespace
}  // namespace penstock::outbox_publisher

PENSTOCK_PLUGIN(penstock::outbox_publisher::OutboxPublisher);
