// The gauges that need a query: outbox, queues, overdue orders, and the books' imbalance, read from
// the store and the transport. Every label exists from the start, so that an alert can tell "zero"
// from "never reported".
//
// One refresh at a time.
#pragma once

#include "penstock/metrics.hpp"
#include "penstock/orders/stock_books.hpp"
#include "penstock/transport.hpp"

#include <map>
#include <string>
#include <vector>

namespace penstock::metrics {

class QueryGauges {
 public:
  QueryGauges(Metrics& metrics, orders::StockBooks& books, Transport& transport);

  // Blocks for one query of the store and one of the transport per queue. What could not be read
  // keeps its last value, the rest is read all the same. Errors: the first one met.
  Result<void> refresh();

 private:
  struct QueueGauges {
    QueueName queue;
    Gauge& ready;
    Gauge& delayed;
    Gauge& unacked;
    Gauge& oldest_seconds;
    Gauge& dead;
  };

  static QueueGauges gauges_of(Metrics& metrics, const QueueName& queue);
  Result<void> refresh_store();
  Result<void> refresh_queue(const QueueGauges& gauges);

  orders::StockBooks& books_;
  Transport& transport_;
  std::map<std::string, Gauge*> outbox_;
  Gauge& outbox_oldest_seconds_;
  std::map<orders::OrderStatus, Gauge*> overdue_;
  Gauge& imbalance_;
  std::vector<QueueGauges> queues_;
  Counter& refreshed_;
  Counter& failed_;
};

}  // namespace penstock::metrics
