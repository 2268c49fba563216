// The stock gate as a plugin: its settings, its health and its metrics.
#include "penstock/plugin.hpp"
#include "penstock/orders/measured_gate.hpp"
#include "stock_memory/memory_gate.hpp"

#include <optional>

namespace penstock::stock_memory {

class StockMemory : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    const auto remembered = static_cast<std::size_t>(context.config().integer("remembered_requests"));
    probe_ = context.health().probe("stock_gate");
    gate_.emplace(MemoryGateSettings{remembered}, context.clock(), *probe_);
    measured_.emplace(*gate_, context.metrics(), context.clock());
    context.services().provide<orders::StockGate>(*measured_);
    return {};
  }

  Result<void> start() override {
    probe_->not_ready("closed: waits for its first rebuild from the books");
    return {};
  }

  Result<void> stop(Deadline) override { return {}; }

 private:
  std::unique_ptr<HealthProbe> probe_;
  std::optional<MemoryGate> gate_;
  std::optional<orders::MeasuredGate> measured_;
};

}  // namespace penstock::stock_memory

PENSTOCK_PLUGIN(penstock::stock_memory::StockMemory);
