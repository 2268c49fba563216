#include "order_consumer/stock_locker.hpp"

#include "penstock/fail_point.hpp"

#include <string>

namespace penstock::order_consumer {

using orders::Handled;
using orders::LockOutcome;

StockLocker::StockLocker(orders::RetryPolicy retry, orders::OrderStore& store, Metrics& metrics)
    : retry_(retry), store_(store), metrics_(metrics) {
  // Shown as 0 from the start, so that an alert on them needs no first failure.
  for (const auto* reason : {"no_stock", "unknown_order"}) static_cast<void>(failures(reason));
}

std::vector<orders::Verdict> StockLocker::work(std::span<const orders::EventItem> items) {
  std::vector<orders::LockRequest> requests;
  requests.reserve(items.size());
  for (const auto& item : items) requests.push_back({item.event.id, item.event.order_no});

  const auto outcomes = store_.lock_stock(requests);
  if (auto armed = fail_point::hit("consumer.after_lock"); !armed) {
    return retry_.all_failed(items, armed.error());
  }
  std::vector<orders::Verdict> verdicts;
  verdicts.reserve(items.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) verdicts.push_back(judge(items[i], outcomes[i]));
  return verdicts;
}

orders::Verdict StockLocker::judge(const orders::EventItem& item, const Result<LockOutcome>& outcome) {
  if (!outcome) {
    failures(to_string(outcome.error().code)).increment();
    return retry_.failed(item, outcome.error());
  }
  switch (*outcome) {
    case LockOutcome::Locked: return {Handled::Done, {}, {}};
    case LockOutcome::NoStock:  // the order is FAILED, which is this event's effect
      failures("no_stock").increment();
      return {Handled::Done, {}, {}};
    case LockOutcome::AlreadyHandled: return {Handled::Repeated, {}, {}};
    case LockOutcome::UnknownOrder: break;
  }
  failures("unknown_order").increment();
  return retry_.unknown_order(item);
}

Counter& StockLocker::failures(std::string_view reason) {
  return metrics_.counter("penstock_stock_lock_failures_total",
                          "Orders whose stock was not locked, by reason.", {{"reason", std::string(reason)}});
}

}  // namespace penstock::order_consumer
