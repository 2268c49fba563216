#include "reconciler/hold_settler.hpp"

#include "penstock/fail_point.hpp"

namespace penstock::reconciler {
namespace {

Counter& repairs(Metrics& metrics, std::string kind) {
  return metrics.counter("penstock_reconcile_repairs_total", "Holds settled without their event, by kind.",
                         {{"kind", std::move(kind)}});
}

std::vector<orders::OrderNo> numbers_of(const std::vector<orders::GateHold>& holds) {
  std::vector<orders::OrderNo> numbers;
  numbers.reserve(holds.size());
  for (const auto& hold : holds) numbers.push_back(hold.order_no);
  return numbers;
}

bool is_sold(orders::OrderStatus status) {
  return status == orders::OrderStatus::Paid || status == orders::OrderStatus::Refunded;
}

}  // namespace

HoldSettler::HoldSettler(HoldSettlerSettings settings, Context& context, orders::OrderStore& store,
                         orders::StockGate& gate)
    : settings_(settings),
      clock_(context.clock()),
      logger_(context.logger()),
      store_(store),
      gate_(gate),
      batch_size_(context.metrics().histogram("penstock_batch_size", "Items per batch, by stage.",
                                              {{"stage", "reconcile"}}, kBatchBuckets)),
      orphans_(repairs(context.metrics(), "orphan_hold")),
      unsold_(repairs(context.metrics(), "unsold_hold")),
      sold_(repairs(context.metrics(), "sold_hold")),
      next_review_(clock_.deadline_in(settings.review)) {}

Result<bool> HoldSettler::step() {
  if (clock_.steady_now() >= next_review_) {
    from_ = {};
    next_review_ = clock_.deadline_in(settings_.review);
  }
  const auto before = clock_.now() - settings_.grace;
  const auto page = gate_.holds({from_, before}, settings_.max_batch);
  if (!page) return page.error();
  if (!page->empty()) {
    batch_size_.observe(static_cast<double>(page->size()));
    const auto findings = examine(*page);
    if (!findings) return findings.error();
    if (auto done = abandon(findings->orphans); !done) return done.error();
    if (auto done = release(findings->ended_unsold, orders::ReleaseKind::Ended, unsold_); !done)
      return done.error();
    if (auto done = confirm(findings->ended_sold); !done) return done.error();
  }
  return advance(*page, before);
}

Result<HoldSettler::Findings> HoldSettler::examine(const Holds& page) {
  const auto orders = store_.find(numbers_of(page));
  if (!orders) return orders.error();
  const auto now = store_.now();
  if (!now) return now.error();
  Findings findings;
  for (std::size_t i = 0; i < page.size(); ++i) {
    const auto& order = (*orders)[i];
    if (!order) {
      findings.orphans.push_back(page[i]);
    } else if (is_final(order->status) && order->updated_at < *now - settings_.grace) {
      (is_sold(order->status) ? findings.ended_sold : findings.ended_unsold).push_back(page[i]);
    }
  }
  return findings;
}

Result<void> HoldSettler::abandon(const Holds& orphans) {
  if (orphans.empty()) return {};
  const auto answers = store_.abandon(numbers_of(orphans));
  if (auto armed = fail_point::hit("reconciler.after_abandon"); !armed) return armed;
  Holds abandoned;
  Result<void> result;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i])
      result = answers[i].error();
    else if (*answers[i] == orders::AbandonOutcome::Abandoned)
      abandoned.push_back(orphans[i]);
  }
  if (auto released = release(abandoned, orders::ReleaseKind::Undone, orphans_); !released) return released;
  return result;
}

Result<void> HoldSettler::release(const Holds& holds, orders::ReleaseKind kind, Counter& settled) {
  if (holds.empty()) return {};
  std::vector<orders::ReleaseRequest> requests;
  requests.reserve(holds.size());
  for (const auto& hold : holds) requests.push_back({hold.order_no, hold.lines, kind});
  Result<void> result;
  const auto outcomes = gate_.release(requests);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i]) {
      result = outcomes[i].error();
    } else if (*outcomes[i] == orders::ReleaseOutcome::Released) {
      settled.increment();
      logger_.warn(
          kind == orders::ReleaseKind::Undone ? "orphan_hold_released" : "ended_hold_released",
          {{"order", holds[i].order_no.str()}, {"held_at_ms", holds[i].held_at.time_since_epoch().count()}});
    }
  }
  return result;
}

Result<void> HoldSettler::confirm(const Holds& holds) {
  if (holds.empty()) return {};
  std::vector<orders::ConfirmRequest> requests;
  requests.reserve(holds.size());
  for (const auto& hold : holds) requests.push_back({hold.order_no, hold.lines});
  Result<void> result;
  const auto outcomes = gate_.confirm(requests);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i]) {
      result = outcomes[i].error();
    } else if (*outcomes[i] == orders::ConfirmOutcome::Confirmed) {
      sold_.increment();
      logger_.warn("sold_hold_confirmed", {{"order", holds[i].order_no.str()}});
    }
  }
  return result;
}

bool HoldSettler::advance(const Holds& page, TimePoint before) {
  if (page.size() < settings_.max_batch) {
    from_ = std::max(from_, before);
    return false;
  }
  // The next page begins with the last instant of this one: it may have more holds than fitted. A page
  // full of one instant is left behind: its holds cannot be told apart by time.
  const auto last = page.back().held_at;
  from_ = last > from_ ? last : from_ + Milliseconds(1);
  return true;
}

}  // namespace penstock::reconciler
