#include "order_store_sql/endings.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/orders/events.hpp"
#include "sql/json_rows.hpp"

#include <set>

namespace penstock::order_store_sql {

using namespace orders;

namespace {

CancelOutcome judge(const CancelRequest& request, const std::optional<OrderState>& order) {
  if (!order || order->tombstone) return CancelOutcome::UnknownOrder;
  if (!request.user.empty() && request.user.str() != order->user) return CancelOutcome::UnknownOrder;
  switch (order->status) {
    case OrderStatus::Processing:
    case OrderStatus::WaitingPay: return CancelOutcome::Cancelled;
    case OrderStatus::Cancelled: return CancelOutcome::AlreadyCancelled;
    default: return CancelOutcome::NotCancellable;
  }
}

ExpireAnswer judge(const std::optional<OrderState>& order) {
  if (!order || order->tombstone) return {ExpireOutcome::UnknownOrder, {}};
  if (order->status == OrderStatus::Processing) return {ExpireOutcome::NotWaiting, {}};
  if (order->status != OrderStatus::WaitingPay) return {ExpireOutcome::AlreadyEnded, {}};
  if (order->overdue < Milliseconds(0)) return {ExpireOutcome::NotDue, -order->overdue};
  return {ExpireOutcome::Expired, order->overdue};
}

}  // namespace

Endings::Endings(Tables& tables)
    : tables_(tables),
      bury_(tables.database.dialect().insert_skipping(
          "order_info",
          "order_no, status, reason, amount_minor, currency, pay_within_ms, trace, created_at, updated_at",
          "SELECT r.order_no, 'FAILED', '" + std::string(kReasonAbandoned) + "', 0, '', 0, '', " +
              tables.database.dialect().now() + ", " + tables.database.dialect().now() + " FROM " +
              tables.database.dialect().rows({{"order_no"}}))) {}

template <class Answer, class Item, class Round>
Result<std::vector<Result<Answer>>> Endings::end_batch(std::span<const Item> items, const Rounds& rounds,
                                                       const Round& round) {
  using Done = Committed<std::vector<Result<Answer>>>;
  return commit<std::vector<Result<Answer>>>(tables_, [&](sql::Transaction& tx) -> Result<Done> {
    Answers<Answer> outcomes(items.size());
    bool ended = false;
    for (const auto& positions : rounds.positions()) ended |= round(tx, items, positions, outcomes);
    // Both kinds of ending pass the same window: stock given back, not committed.
    if (const auto hit = fail_point::hit("store.cancel.in_transaction"); !hit.ok()) return hit.error();
    return Done{outcomes.take(), ended};
  });
}

std::vector<Result<CancelAnswer>> Endings::cancel(std::span<const CancelRequest> requests) {
  return run_batch<CancelAnswer>(requests, [&](std::span<const CancelRequest> part) {
    Rounds rounds;
    for (const auto& request : part) rounds.add({request.order_no.str()});
    return end_batch<CancelAnswer>(part, rounds, [&](auto&... step) { return cancel_round(step...); });
  });
}

bool Endings::cancel_round(sql::Transaction& tx, std::span<const CancelRequest> requests, const Items& items,
                           Answers<CancelAnswer>& outcomes) const {
  std::vector<OrderNo> numbers;
  for (const auto item : items) numbers.push_back(requests[item].order_no);
  const auto states = tables_.orders.states(tx, numbers);
  std::vector<Move> moves;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& request = requests[items[i]];
    const auto outcome = judge(request, states[i]);
    const auto before = states[i] ? states[i]->status : OrderStatus::Processing;
    const bool ended = outcome == CancelOutcome::Cancelled;
    outcomes.set(items[i], CancelAnswer{outcome, ended ? OrderStatus::Cancelled : before});
    if (ended)
      moves.push_back({request.order_no, before, OrderStatus::Cancelled, request.actor, kReasonUser});
  }
  release(tx, moves);
  return !moves.empty();
}

std::vector<Result<ExpireAnswer>> Endings::expire(std::span<const OrderNo> order_nos) {
  return run_batch<ExpireAnswer>(order_nos, [&](std::span<const OrderNo> part) {
    Rounds rounds;
    for (const auto& order_no : part) rounds.add({order_no.str()});
    return end_batch<ExpireAnswer>(part, rounds, [&](auto&... step) { return expire_round(step...); });
  });
}

bool Endings::expire_round(sql::Transaction& tx, std::span<const OrderNo> order_nos, const Items& items,
                           Answers<ExpireAnswer>& outcomes) const {
  std::vector<OrderNo> numbers;
  for (const auto item : items) numbers.push_back(order_nos[item]);
  const auto states = tables_.orders.states(tx, numbers);
  std::vector<Move> moves;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto answer = judge(states[i]);
    outcomes.set(items[i], answer);
    if (answer.outcome != ExpireOutcome::Expired) continue;
    moves.push_back(
        {numbers[i], OrderStatus::WaitingPay, OrderStatus::Cancelled, "timeout_release", kReasonTimeout});
  }
  release(tx, moves);
  return !moves.empty();
}

void Endings::release(sql::Transaction& tx, const std::vector<Move>& moves) const {
  if (moves.empty()) return;
  std::vector<OrderNo> numbers;
  for (const auto& move : moves) numbers.push_back(move.order_no);
  const auto lines = tables_.orders.lines(tx, numbers);
  std::vector<NewEvent> events;
  for (std::size_t i = 0; i < numbers.size(); ++i) events.push_back({kOrderReleased, numbers[i], lines[i]});
  tables_.orders.move(tx, moves);
  tables_.outbox.add(tx, events);
  tables_.stock.end_locks(tx, numbers, LockEnd::Released);
}

std::vector<Result<AbandonOutcome>> Endings::abandon(std::span<const OrderNo> order_nos) {
  return run_batch<AbandonOutcome>(order_nos,
                                   [&](std::span<const OrderNo> part) { return abandon_batch(part); });
}

// The primary key decides the race with accept: whoever inserts the number first has it.
Result<std::vector<Result<AbandonOutcome>>> Endings::abandon_batch(std::span<const OrderNo> order_nos) {
  return tables_.database.write([&](sql::Transaction& tx) -> Result<std::vector<Result<AbandonOutcome>>> {
    tx.execute(bury_, as_rows(order_nos));
    std::vector<Result<AbandonOutcome>> outcomes;
    for (const auto& state : tables_.orders.states(tx, order_nos)) {
      outcomes.emplace_back(state && !state->tombstone ? AbandonOutcome::Exists : AbandonOutcome::Abandoned);
    }
    return outcomes;
  });
}

}  // namespace penstock::order_store_sql
