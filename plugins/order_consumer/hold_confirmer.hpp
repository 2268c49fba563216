// HoldConfirmer: tells the gate that the units of paid orders are sold. Idempotent by order number, so
// an event delivered twice changes nothing the second time.
//
// Thread-safe. Blocks as long as the gate does.
#pragma once

#include "penstock/orders/event_handler.hpp"
#include "penstock/orders/stock_gate.hpp"

#include <span>
#include <vector>

namespace penstock::order_consumer {

class HoldConfirmer {
 public:
  HoldConfirmer(orders::RetryPolicy retry, orders::StockGate& gate) : retry_(retry), gate_(gate) {}
  std::vector<orders::Verdict> work(std::span<const orders::EventItem> items);

 private:
  const orders::RetryPolicy retry_;
  orders::StockGate& gate_;
};

}  // namespace penstock::order_consumer
