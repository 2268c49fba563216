#include "penstock/plugin.hpp"

#include "order_consumer/hold_confirmer.hpp"
#include "order_consumer/stock_locker.hpp"
#include "penstock/orders/events.hpp"
#include "penstock/queue_consumer.hpp"

#include <optional>

namespace penstock::order_consumer {
namespace {

orders::RetrySettings read_retry(const Config& config) {
  return {.back_off = {config.duration("first_retry_ms"), config.duration("max_retry_ms")},
          .unknown_order_attempts = static_cast<std::uint32_t>(config.integer("unknown_order_attempts"))};
}

SubscribeOptions read_options(const Config& config, QueueName queue) {
  return {.queue = std::move(queue),
          .max_batch = static_cast<std::uint32_t>(config.integer("max_batch")),
          .concurrency = static_cast<std::uint32_t>(config.integer("concurrency")),
          .lease = config.duration("lease_ms")};
}

class OrderConsumer : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context_ = &context;
    lock_options_ = read_options(context.config(), orders::lock_queue());
    confirm_options_ = read_options(context.config(), orders::confirm_queue());
    retry_settings_ = read_retry(context.config());
    return {};
  }

  Result<void> start() override {
    auto& services = context_->services();
    const orders::RetryPolicy retry(retry_settings_, context_->random());
    locker_.emplace(retry, services.require<orders::OrderStore>(), context_->metrics());
    confirmer_.emplace(retry, services.require<orders::StockGate>());
    lock_handler_.emplace(orders::EventHandlerSettings{"lock", std::string(orders::kOrderCreated)},
                          context_->metrics(), [this](auto items) { return locker_->work(items); });
    confirm_handler_.emplace(orders::EventHandlerSettings{"confirm", std::string(orders::kOrderPaid)},
                             context_->metrics(), [this](auto items) { return confirmer_->work(items); });

    auto& transport = services.require<Transport>();
    lock_consumer_.emplace(*context_, transport, lock_options_,
                           [this](auto deliveries) { return lock_handler_->handle(deliveries); });
    confirm_consumer_.emplace(*context_, transport, confirm_options_,
                              [this](auto deliveries) { return confirm_handler_->handle(deliveries); });
    return {};
  }

  Result<void> stop(Deadline deadline) override {
    Result<void> result;
    for (auto* consumer : {&lock_consumer_, &confirm_consumer_}) {
      if (!*consumer) continue;
      if (auto stopped = (*consumer)->stop(deadline); !stopped) result = stopped;
      consumer->reset();
    }
    return result;
  }

 private:
  Context* context_ = nullptr;
  SubscribeOptions lock_options_;
  SubscribeOptions confirm_options_;
  orders::RetrySettings retry_settings_;
  std::optional<StockLocker> locker_;
  std::optional<HoldConfirmer> confirmer_;
  std::optional<orders::EventHandler> lock_handler_;
  std::optional<orders::EventHandler> confirm_handler_;
  std::optional<QueueConsumer> lock_consumer_;  // after what their handlers use
  std::optional<QueueConsumer> confirm_consumer_;
};

}  // namespace
}  // namespace penstock::order_consumer

PENSTOCK_PLUGIN(penstock::order_consumer::OrderConsumer);
