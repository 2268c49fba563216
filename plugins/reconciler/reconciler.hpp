// Reconciler: keeps the gate true to the books. One pass opens a closed gate, or, when it is open, loads
// what is new in the books, settles holds that nobody else will, and compares the two.
//
// Not thread-safe: one Worker calls step().
#pragma once

#include "reconciler/gate_comparison.hpp"
#include "reconciler/gate_rebuild.hpp"
#include "reconciler/hold_settler.hpp"

#include <memory>

namespace penstock::reconciler {

struct ReconcilerSettings {
  Milliseconds interval{2'000};
  GateRebuildSettings rebuild;
  HoldSettlerSettings settler;
};

class Reconciler {
 public:
  Reconciler(ReconcilerSettings settings, Context& context, orders::OrderStore& store,
             orders::StockBooks& books, orders::StockGate& gate);

  // One bounded piece of work. The wait until the next.
  Result<Milliseconds> step();

 private:
  Result<Milliseconds> rebuild();
  Result<void> load_and_compare(std::span<const orders::SkuSnapshot> snapshot);

  const ReconcilerSettings settings_;
  orders::StockBooks& books_;
  orders::StockGate& gate_;
  const std::unique_ptr<HealthProbe> probe_;
  GateRebuild rebuild_;
  HoldSettler settler_;
  GateComparison comparison_;
  bool within_pass_ = false;  // more pages of holds follow: load and compare are done already
};

}  // namespace penstock::reconciler
