#include "metrics/query_gauges.hpp"

#include "penstock/orders/events.hpp"

#include <chrono>

namespace penstock::metrics {
namespace {

constexpr std::string_view kOutboxStates[] = {"NEW", "LEASED", "RETRY", "DEAD"};

double seconds(Milliseconds span) {
  return std::chrono::duration<double>(span).count();
}

Counter& refresh_counter(Metrics& metrics, std::string outcome) {
  return metrics.counter("penstock_gauge_refreshes_total",
                         "Readings of the gauges that need a query, by outcome; after an error they are old.",
                         {{"outcome", std::move(outcome)}});
}

}  // namespace

QueryGauges::QueryGauges(Metrics& metrics, orders::StockBooks& books, Transport& transport)
    : books_(books),
      transport_(transport),
      outbox_oldest_seconds_(metrics.gauge("penstock_outbox_oldest_pending_seconds",
                                           "Age of the oldest outbox event that is due and not sent.", {})),
      imbalance_(metrics.gauge("penstock_stock_imbalance_units",
                               "Units that the books cannot place: must be 0.", {})),
      refreshed_(refresh_counter(metrics, "done")),
      failed_(refresh_counter(metrics, "error")) {
  for (const auto state : kOutboxStates) {
    outbox_[std::string(state)] =
        &metrics.gauge("penstock_outbox_events", "Outbox events that are not sent, by state.",
                       {{"state", std::string(state)}});
  }
  for (const auto status : {orders::OrderStatus::Processing, orders::OrderStatus::WaitingPay}) {
    overdue_[status] =
        &metrics.gauge("penstock_orders_overdue", "Orders that should have moved on by now, by status.",
                       {{"status", std::string(to_string(status))}});
  }
  for (const auto& spec : orders::order_topology(1).queues) queues_.push_back(gauges_of(metrics, spec.name));
}

QueryGauges::QueueGauges QueryGauges::gauges_of(Metrics& metrics, const QueueName& queue) {
  const auto messages = [&](const char* state) -> Gauge& {
    return metrics.gauge("penstock_queue_messages", "Messages in the queue, by state.",
                         {{"queue", queue.str()}, {"state", state}});
  };
  return {queue,
          messages("ready"),
          messages("delayed"),
          messages("unacked"),
          metrics.gauge("penstock_queue_oldest_message_seconds", "Age of the oldest message that is due.",
                        {{"queue", queue.str()}}),
          metrics.gauge("penstock_dead_letters", "Parked messages: someone must look.",
                        {{"queue", queue.str()}})};
}

Result<void> QueryGauges::refresh() {
  Result<void> outcome = refresh_store();
  for (const auto& queue : queues_) {
    auto done = refresh_queue(queue);
    if (!done && outcome) outcome = std::move(done);
  }
  (outcome ? refreshed_ : failed_).increment();
  return outcome;
}

Result<void> QueryGauges::refresh_store() {
  const auto figures = books_.figures();
  if (!figures) return figures.error();
  for (const auto& [state, gauge] : outbox_) {
    const auto found = figures->outbox.find(state);
    gauge->set(found == figures->outbox.end() ? 0 : static_cast<double>(found->second));
  }
  for (const auto& [status, gauge] : overdue_) {
    const auto found = figures->overdue.find(status);
    gauge->set(found == figures->overdue.end() ? 0 : static_cast<double>(found->second));
  }
  outbox_oldest_seconds_.set(seconds(figures->outbox_oldest_pending));
  imbalance_.set(static_cast<double>(figures->imbalance_units));
  return {};
}

Result<void> QueryGauges::refresh_queue(const QueueGauges& gauges) {
  const auto depth = transport_.depth(gauges.queue);
  if (!depth) {
    // Its consumer has not declared it yet: there is nothing in it.
    if (depth.error().code == ErrorCode::NotFound) return {};
    return depth.error();
  }
  gauges.ready.set(static_cast<double>(depth->ready));
  gauges.delayed.set(static_cast<double>(depth->delayed));
  gauges.unacked.set(static_cast<double>(depth->unacked));
  gauges.oldest_seconds.set(seconds(depth->oldest));
  gauges.dead.set(static_cast<double>(depth->dead));
  return {};
}

}  // namespace penstock::metrics
