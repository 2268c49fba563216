// What the intake knows about its dependencies without asking them for every request: one worker
// looks at the gate, another at the store, so that one of them hanging does not hide the other.
// Their health probes say what the intake sees; the adapters report about themselves.
#pragma once

#include "penstock/health.hpp"
#include "penstock/orders/stock_books.hpp"
#include "penstock/orders/stock_gate.hpp"
#include "penstock/worker.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace penstock::order_intake {

// The gate's free units, a moment old, and whether the gate is loaded. Thread-safe.
class GateWatch {
 public:
  GateWatch(Milliseconds every, orders::StockGate& gate, Health& health, Logger& logger);

  // None while the gate is not loaded, or does not know the product.
  std::optional<std::int64_t> free_units(const orders::Sku& sku) const;
  [[nodiscard]] bool stop(Deadline deadline) { return worker_.stop(deadline); }

 private:
  using FreeUnits = std::unordered_map<orders::Sku, std::int64_t>;

  Milliseconds look();
  void keep(std::shared_ptr<const FreeUnits> figures);

  const Milliseconds every_;
  orders::StockGate& gate_;
  const std::unique_ptr<HealthProbe> probe_;
  mutable std::mutex mutex_;
  std::shared_ptr<const FreeUnits> figures_;
  Worker worker_;  // last: it uses all of the above
};

// Whether the store answers, and whether its outbox is too far behind to take more. Thread-safe.
class StoreWatch {
 public:
  StoreWatch(Milliseconds every, std::int64_t max_backlog, orders::StockBooks& books, Health& health,
             Logger& logger);

  // The outbox held more unsent events than allowed when last looked at.
  bool over_backlog() const { return over_backlog_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool stop(Deadline deadline) { return worker_.stop(deadline); }

 private:
  Milliseconds look();
  void judge(std::int64_t pending);

  const Milliseconds every_;
  const std::int64_t max_backlog_;
  orders::StockBooks& books_;
  Logger& logger_;
  const std::unique_ptr<HealthProbe> probe_;
  std::atomic<bool> over_backlog_{false};
  Worker worker_;
};

}  // namespace penstock::order_intake
