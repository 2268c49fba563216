#include "order_store_sql/stock_locking.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/orders/events.hpp"
#include "sql/json_rows.hpp"

#include <set>

namespace penstock::order_store_sql {

using namespace orders;

namespace {

constexpr std::string_view kActor = "order_consumer";

std::string log_rows(const sql::Dialect& d) {
  return d.rows({{"event"}, {"consumer"}, {"order_no"}});
}

std::string log_json(std::span<const LockRequest> requests, const std::vector<std::size_t>& items) {
  sql::JsonRows rows;
  for (const auto item : items) rows.add(requests[item].event, kActor, requests[item].order_no);
  return rows.take();
}

std::vector<OrderNo> numbers_of(std::span<const LockRequest> requests,
                                const std::vector<std::size_t>& items) {
  std::vector<OrderNo> numbers;
  numbers.reserve(items.size());
  for (const auto item : items) numbers.push_back(requests[item].order_no);
  return numbers;
}

std::vector<Sku> skus_of(const std::vector<std::vector<Line>>& orders) {
  std::set<Sku> skus;
  for (const auto& lines : orders) {
    for (const auto& line : lines) skus.insert(line.sku);
  }
  return {skus.begin(), skus.end()};
}

}  // namespace

StockLocking::StockLocking(Tables& tables)
    : tables_(tables),
      handled_("SELECT r.i FROM " + log_rows(tables.database.dialect()) +
               " CROSS JOIN mq_consume_log c ON c.event_id = r.event AND c.consumer = r.consumer"),
      log_(
          "INSERT INTO mq_consume_log(event_id, consumer, order_no, consumed_at) SELECT r.event, r.consumer, "
          "r.order_no, " +
          tables.database.dialect().now() + " FROM " + log_rows(tables.database.dialect())) {}

std::vector<Result<LockOutcome>> StockLocking::lock(std::span<const LockRequest> requests) {
  return run_batch<LockOutcome>(requests, [&](Requests part) { return lock_batch(part); });
}

Result<std::vector<Result<LockOutcome>>> StockLocking::lock_batch(Requests requests) {
  using Done = Committed<std::vector<Result<LockOutcome>>>;
  Rounds rounds;
  for (const auto& request : requests) rounds.add({"e" + request.event.str(), "n" + request.order_no.str()});
  return commit<std::vector<Result<LockOutcome>>>(tables_, [&](sql::Transaction& tx) -> Result<Done> {
    Outcomes outcomes(requests.size());
    bool locked = false;
    for (const auto& items : rounds.positions()) locked |= lock_round(tx, requests, items, outcomes);
    if (const auto hit = fail_point::hit("store.lock.in_transaction"); !hit.ok()) return hit.error();
    return Done{outcomes.take(), locked};
  });
}

bool StockLocking::lock_round(sql::Transaction& tx, Requests requests, const Items& items,
                              Outcomes& outcomes) const {
  const auto fresh = settle_handled(tx, requests, items, outcomes);
  if (fresh.empty()) return false;
  lock_orders(tx, requests, fresh, outcomes);
  write_log(tx, requests, fresh);
  return true;
}

// Leaves those whose order is PROCESSING and whose event is new.
StockLocking::Items StockLocking::settle_handled(sql::Transaction& tx, Requests requests, const Items& items,
                                                 Outcomes& outcomes) const {
  std::vector<bool> handled(items.size(), false);
  for (const auto& [i] : tx.query<std::int64_t>(handled_, log_json(requests, items))) {
    handled[static_cast<std::size_t>(i)] = true;
  }
  const auto states = tables_.orders.states(tx, numbers_of(requests, items));
  Items fresh;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& state = states[i];
    if (handled[i])
      outcomes.set(items[i], LockOutcome::AlreadyHandled);
    else if (!state || state->tombstone)
      outcomes.set(items[i], LockOutcome::UnknownOrder);
    else if (state->status != OrderStatus::Processing)
      outcomes.set(items[i], LockOutcome::AlreadyHandled);
    else
      fresh.push_back(items[i]);
  }
  return fresh;
}

void StockLocking::lock_orders(sql::Transaction& tx, Requests requests, const Items& items,
                               Outcomes& outcomes) const {
  const auto numbers = numbers_of(requests, items);
  const auto lines = tables_.orders.lines(tx, numbers);
  auto shelves = tables_.stock.shelves(tx, skus_of(lines));
  std::vector<Allocation> allocations;
  std::vector<Move> moves;
  std::vector<NewEvent> events;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool enough = allocate(numbers[i], lines[i], shelves, allocations);
    outcomes.set(items[i], enough ? LockOutcome::Locked : LockOutcome::NoStock);
    moves.push_back({numbers[i], OrderStatus::Processing,
                     enough ? OrderStatus::WaitingPay : OrderStatus::Failed, kActor,
                     enough ? "" : kReasonNoStock});
    events.push_back({enough ? kOrderPayDue : kOrderReleased, numbers[i], lines[i]});
  }
  tables_.orders.move(tx, moves);
  tables_.outbox.add(tx, events);
  tables_.stock.lock(tx, allocations);  // last: the hot rows are held for the shortest time
}

void StockLocking::write_log(sql::Transaction& tx, Requests requests, const Items& items) const {
  tx.execute(log_, log_json(requests, items));
}

}  // namespace penstock::order_store_sql
