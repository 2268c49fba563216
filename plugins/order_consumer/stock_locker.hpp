// StockLocker: turns accepted orders into orders that wait for their payment, by locking their units in
// the database. One transaction per batch; the store sees to it that an event delivered twice has its
// effect once.
//
// Thread-safe. Blocks for the store's transactions.
#pragma once

#include "penstock/metrics.hpp"
#include "penstock/orders/event_handler.hpp"
#include "penstock/orders/order_store.hpp"

#include <span>
#include <vector>

namespace penstock::order_consumer {

class StockLocker {
 public:
  StockLocker(orders::RetryPolicy retry, orders::OrderStore& store, Metrics& metrics);
  std::vector<orders::Verdict> work(std::span<const orders::EventItem> items);

 private:
  orders::Verdict judge(const orders::EventItem& item, const Result<orders::LockOutcome>& outcome);
  Counter& failures(std::string_view reason);

  const orders::RetryPolicy retry_;
  orders::OrderStore& store_;
  Metrics& metrics_;
};

}  // namespace penstock::order_consumer
