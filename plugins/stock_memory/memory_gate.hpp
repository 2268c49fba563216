// MemoryGate: the stock gate of a single process.
//
// It starts closed and stays so until the first rebuild from the books: an empty memory is no
// evidence of an empty stock. One mutex guards everything: a batch is a few hundred hash look-ups, so
// the lock is held for a fraction of a millisecond and dividing it would gain nothing.
//
// Memory: about 500 bytes per hold, 250 per remembered request, 100 per user and SKU bought, and 12 MB
// of tables that are there from the start.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/health.hpp"
#include "penstock/orders/stock_gate.hpp"
#include "stock_memory/figures.hpp"

#include <memory>
#include <mutex>

namespace penstock::stock_memory {

struct MemoryGateSettings {
  std::size_t remembered_requests;  // of ended orders, oldest forgotten first
};

class MemoryGate : public orders::StockGate {
 public:
  // The probe says ready while the gate is open.
  MemoryGate(MemoryGateSettings settings, Clock& clock, HealthProbe& probe);

  std::vector<Result<orders::ReserveAnswer>> reserve(
      std::span<const orders::ReserveRequest> requests) override;
  std::vector<Result<orders::ReleaseOutcome>> release(
      std::span<const orders::ReleaseRequest> requests) override;
  std::vector<Result<orders::ConfirmOutcome>> confirm(
      std::span<const orders::ConfirmRequest> requests) override;

  Result<orders::Epoch> begin_rebuild() override;
  // Errors: also InvalidArgument when the image contradicts itself; the gate then stays closed.
  Result<void> finish_rebuild(orders::Epoch epoch, const orders::GateImage& image) override;
  std::vector<Result<orders::LoadOutcome>> load(std::span<const orders::GateSku> skus) override;

  Result<std::vector<orders::GateHold>> holds(orders::HoldSpan span, std::size_t limit) override;
  Result<std::vector<orders::SkuSnapshot>> snapshot() override;

 private:
  Result<void> check_current(orders::Epoch epoch) const;

  const MemoryGateSettings settings_;
  Clock& clock_;
  HealthProbe& probe_;

  std::mutex mutex_;
  orders::Epoch epoch_ = 0;
  std::unique_ptr<Figures> figures_;  // null while closed
};

}  // namespace penstock::stock_memory
