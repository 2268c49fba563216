// Expirer: cancels orders whose pay deadline has passed. The delayed event gives precision, the sweep of
// the database gives certainty; both race with payment and cancellation on one conditional update, so
// each order is ended once, whoever comes first.
//
// Thread-safe. Blocks for the store's transactions.
#pragma once

#include "penstock/metrics.hpp"
#include "penstock/orders/event_handler.hpp"
#include "penstock/orders/order_store.hpp"

#include <span>
#include <vector>

namespace penstock::timeout_release {

struct ExpirerSettings {
  std::size_t max_batch = 500;
  Milliseconds sweep{5'000};
  orders::RetrySettings retry;
  // A deadline event that is early too often (clocks that disagree) is left to the sweep: it must not
  // use up its deliveries and be parked for being punctual.
  std::uint32_t early_attempts = 5;
};

class Expirer {
 public:
  Expirer(ExpirerSettings settings, orders::OrderStore& store, Metrics& metrics, Random& random);

  // The work of pay-due events.
  std::vector<orders::Verdict> work(std::span<const orders::EventItem> items);
  // One step of the sweep: at most one batch. The wait until the next step.
  Result<Milliseconds> sweep();

 private:
  orders::Verdict judge(const orders::EventItem& item, const Result<orders::ExpireAnswer>& answer);
  orders::Verdict not_yet(const orders::EventItem& item, Milliseconds rest, std::string reason) const;
  void count_release(const orders::ExpireAnswer& answer);

  const ExpirerSettings settings_;
  const orders::RetryPolicy retry_;
  orders::OrderStore& store_;
  Histogram& lag_;
  Histogram& sweep_batch_;
};

}  // namespace penstock::timeout_release
