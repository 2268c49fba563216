#include "penstock/plugin.hpp"

#include "penstock/worker.hpp"
#include "reconciler/gate_page.hpp"
#include "reconciler/reconciler.hpp"

#include <optional>

namespace penstock::reconciler {
namespace {

ReconcilerSettings read_settings(const Config& config) {
  ReconcilerSettings settings;
  settings.interval = config.duration("interval_ms");
  settings.rebuild.settle = config.duration("settle_ms");
  settings.rebuild.remembered_requests = static_cast<std::size_t>(config.integer("remembered_requests"));
  settings.settler.grace = config.duration("grace_ms");
  settings.settler.review = config.duration("review_ms");
  settings.settler.max_batch = static_cast<std::size_t>(config.integer("max_batch"));
  return settings;
}

class ReconcilerPlugin : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context_ = &context;
    settings_ = read_settings(context.config());
    context.http().add({.listener = HttpListener::Operator,
                        .path = "/admin/gate",
                        .handler = [this](const auto&, auto reply) { page_->answer(std::move(reply)); }});
    return {};
  }

  Result<void> start() override {
    auto& services = context_->services();
    page_.emplace(context_->metrics(), services.require<orders::StockGate>());
    reconciler_.emplace(settings_, *context_, services.require<orders::OrderStore>(),
                        services.require<orders::StockBooks>(), services.require<orders::StockGate>());
    worker_.emplace(WorkerSettings{.name = "reconcile"}, context_->logger(),
                    [this] { return reconciler_->step(); });
    return {};
  }

  Result<void> stop(Deadline deadline) override {
    if (page_) page_->drain(deadline);
    if (worker_ && !worker_->stop(deadline)) {
      return Error{ErrorCode::Timeout, "a pass was still running at the deadline"};
    }
    worker_.reset();
    reconciler_.reset();
    return {};
  }

 private:
  Context* context_ = nullptr;
  ReconcilerSettings settings_;
  std::optional<Reconciler> reconciler_;
  std::optional<Worker> worker_;
  std::optional<GatePage> page_;
};

}  // namespace
}  // namespace penstock::reconciler

PENSTOCK_PLUGIN(penstock::reconciler::ReconcilerPlugin);
