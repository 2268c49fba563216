// HoldSettler: looks after holds that have outlived the grace.
//
//   the order is unknown   its accept never came to be: the number gets a tombstone, so that it never
//                          will, and the units go back
//   the order has ended    its event was lost or parked: the gate is told now
//
// Between reviews only holds that have just outlived the grace are read; a review reads all, in pages.
// Not thread-safe: one Worker drives it.
#pragma once

#include "penstock/context.hpp"
#include "penstock/orders/order_store.hpp"
#include "penstock/orders/stock_gate.hpp"

#include <vector>

namespace penstock::reconciler {

struct HoldSettlerSettings {
  Milliseconds grace{30'000};
  Milliseconds review{60'000};
  std::size_t max_batch = 2'000;
};

class HoldSettler {
 public:
  HoldSettler(HoldSettlerSettings settings, Context& context, orders::OrderStore& store,
              orders::StockGate& gate);

  // Effect: reads one page of holds and settles what is to be settled. True when there are more pages.
  // After an error the same page is read again.
  Result<bool> step();

 private:
  using Holds = std::vector<orders::GateHold>;
  // The holds of one page that need something done.
  struct Findings {
    Holds orphans;
    Holds ended_unsold;
    Holds ended_sold;
  };

  Result<Findings> examine(const Holds& page);
  Result<void> abandon(const Holds& orphans);
  Result<void> release(const Holds& holds, orders::ReleaseKind kind, Counter& repairs);
  Result<void> confirm(const Holds& holds);
  bool advance(const Holds& page, TimePoint before);

  const HoldSettlerSettings settings_;
  Clock& clock_;
  Logger& logger_;
  orders::OrderStore& store_;
  orders::StockGate& gate_;
  Histogram& batch_size_;
  Counter& orphans_;
  Counter& unsold_;
  Counter& sold_;
  TimePoint from_{};
  Deadline next_review_;
};

}  // namespace penstock::reconciler
