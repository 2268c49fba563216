// HoldReleaser: gives the units of orders that ended unsold back to the gate. Idempotent by order number,
// so an event delivered twice changes nothing the second time.
//
// Thread-safe. Blocks as long as the gate does.
#pragma once

#include "penstock/orders/event_handler.hpp"
#include "penstock/orders/stock_gate.hpp"

#include <span>
#include <vector>

namespace penstock::timeout_release {

class HoldReleaser {
 public:
  HoldReleaser(orders::RetryPolicy retry, orders::StockGate& gate) : retry_(retry), gate_(gate) {}
  std::vector<orders::Verdict> work(std::span<const orders::EventItem> items);

 private:
  const orders::RetryPolicy retry_;
  orders::StockGate& gate_;
};

}  // namespace penstock::timeout_release
