#include "order_intake/dependency_watch.hpp"

namespace penstock::order_intake {
namespace {

// Unsent events; DEAD ones wait for a person, and refusing orders would not help them.
std::int64_t pending(const orders::StoreFigures& figures) {
  std::int64_t sum = 0;
  for (const auto& [state, count] : figures.outbox) {
    if (state != "DEAD" && state != "SENT") sum += count;
  }
  return sum;
}

}  // namespace

GateWatch::GateWatch(Milliseconds every, orders::StockGate& gate, Health& health, Logger& logger)
    : every_(every),
      gate_(gate),
      probe_(health.probe("stock_gate")),
      worker_({.name = "intake-gate"}, logger, [this]() -> Result<Milliseconds> { return look(); }) {}

std::optional<std::int64_t> GateWatch::free_units(const orders::Sku& sku) const {
  const auto figures = [this] {
    const std::lock_guard lock(mutex_);
    return figures_;
  }();
  if (!figures) return std::nullopt;
  const auto found = figures->find(sku);
  if (found == figures->end()) return std::nullopt;
  return found->second;
}

Milliseconds GateWatch::look() {
  const auto snapshot = gate_.snapshot();
  if (!snapshot) {
    keep(nullptr);
    probe_->not_ready(snapshot.error().message);
    return every_;
  }
  auto figures = std::make_shared<FreeUnits>();
  figures->reserve(snapshot->size());
  for (const auto& entry : *snapshot) figures->emplace(entry.sku, entry.free);
  keep(std::move(figures));
  probe_->ready();
  return every_;
}

void GateWatch::keep(std::shared_ptr<const FreeUnits> figures) {
  const std::lock_guard lock(mutex_);
  figures_ = std::move(figures);
}

StoreWatch::StoreWatch(Milliseconds every, std::int64_t max_backlog, orders::StockBooks& books,
                       Health& health, Logger& logger)
    : every_(every),
      max_backlog_(max_backlog),
      books_(books),
      logger_(logger),
      probe_(health.probe("order_store")),
      worker_({.name = "intake-store"}, logger, [this]() -> Result<Milliseconds> { return look(); }) {}

Milliseconds StoreWatch::look() {
  const auto figures = books_.figures();
  if (!figures) {
    probe_->not_ready(figures.error().message);
    return every_;
  }
  probe_->ready();
  judge(pending(*figures));
  return every_;
}

void StoreWatch::judge(std::int64_t pending) {
  const bool over = pending > max_backlog_;
  if (over_backlog_.exchange(over) == over) return;
  if (over)
    logger_.warn("intake_backlog_reached", {{"pending", pending}, {"max_backlog", max_backlog_}});
  else
    logger_.info("intake_backlog_over", {{"pending", pending}, {"max_backlog", max_backlog_}});
}

}  // namespace penstock::order_intake
