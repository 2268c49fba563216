#include "penstock/plugin.hpp"

#include "penstock/orders/events.hpp"
#include "penstock/queue_consumer.hpp"
#include "penstock/worker.hpp"
#include "timeout_release/expirer.hpp"
#include "timeout_release/hold_releaser.hpp"

#include <optional>

namespace penstock::timeout_release {
namespace {

ExpirerSettings read_settings(const Config& config) {
  ExpirerSettings settings;
  settings.max_batch = static_cast<std::size_t>(config.integer("max_batch"));
  settings.sweep = config.duration("sweep_ms");
  settings.retry.back_off = {config.duration("first_retry_ms"), config.duration("max_retry_ms")};
  settings.retry.unknown_order_attempts =
      static_cast<std::uint32_t>(config.integer("unknown_order_attempts"));
  settings.early_attempts = static_cast<std::uint32_t>(config.integer("early_attempts"));
  return settings;
}

SubscribeOptions read_options(const Config& config, QueueName queue) {
  return {.queue = std::move(queue),
          .max_batch = static_cast<std::uint32_t>(config.integer("max_batch")),
          .concurrency = static_cast<std::uint32_t>(config.integer("concurrency")),
          .lease = config.duration("lease_ms")};
}

class TimeoutRelease : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context_ = &context;
    settings_ = read_settings(context.config());
    pay_due_options_ = read_options(context.config(), orders::pay_due_queue());
    release_options_ = read_options(context.config(), orders::release_queue());
    return {};
  }

  Result<void> start() override {
    auto& services = context_->services();
    auto& metrics = context_->metrics();
    expirer_.emplace(settings_, services.require<orders::OrderStore>(), metrics, context_->random());
    releaser_.emplace(orders::RetryPolicy(settings_.retry, context_->random()),
                      services.require<orders::StockGate>());
    pay_due_handler_.emplace(orders::EventHandlerSettings{"pay_due", std::string(orders::kOrderPayDue)},
                             metrics, [this](auto items) { return expirer_->work(items); });
    release_handler_.emplace(orders::EventHandlerSettings{"release", std::string(orders::kOrderReleased)},
                             metrics, [this](auto items) { return releaser_->work(items); });

    auto& transport = services.require<Transport>();
    pay_due_consumer_.emplace(*context_, transport, pay_due_options_,
                              [this](auto deliveries) { return pay_due_handler_->handle(deliveries); });
    release_consumer_.emplace(*context_, transport, release_options_,
                              [this](auto deliveries) { return release_handler_->handle(deliveries); });
    sweep_.emplace(WorkerSettings{.name = "sweep"}, context_->logger(), [this] { return expirer_->sweep(); });
    return {};
  }

  Result<void> stop(Deadline deadline) override {
    Result<void> result;
    if (sweep_ && !sweep_->stop(deadline)) {
      result = Error{ErrorCode::Timeout, "the sweep was still running at the deadline"};
    }
    sweep_.reset();
    for (auto* consumer : {&pay_due_consumer_, &release_consumer_}) {
      if (!*consumer) continue;
      if (auto stopped = (*consumer)->stop(deadline); !stopped) result = stopped;
      consumer->reset();
    }
    return result;
  }

 private:
  Context* context_ = nullptr;
  ExpirerSettings settings_;
  SubscribeOptions pay_due_options_;
  SubscribeOptions release_options_;
  std::optional<Expirer> expirer_;
  std::optional<HoldReleaser> releaser_;
  std::optional<orders::EventHandler> pay_due_handler_;
  std::optional<orders::EventHandler> release_handler_;
  std::optional<QueueConsumer> pay_due_consumer_;  // after what their handlers use
  std::optional<QueueConsumer> release_consumer_;
  std::optional<Worker> sweep_;
};

}  // namespace
}  // namespace penstock::timeout_release

PENSTOCK_PLUGIN(penstock::timeout_release::TimeoutRelease);
