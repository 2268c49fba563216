#include "order_store_sql/sql_order_store.hpp"

#include "sql/json_rows.hpp"

#include <set>

namespace penstock::order_store_sql {

using namespace orders;
using sql::RowType;

namespace {

TimePoint instant(std::int64_t epoch_ms) {
  return TimePoint(Milliseconds(epoch_ms));
}

std::optional<OrderStatus> parse_optional(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  return parse_status(*name);
}

}  // namespace

SqlOrderStore::SqlOrderStore(sql::Database& database, Random& random)
    : tables_(database, random),
      acceptance_(tables_),
      locking_(tables_),
      payments_(tables_),
      endings_(tables_),
      overdue_("SELECT order_no FROM order_info WHERE status = 'WAITING_PAY' AND pay_deadline <= " +
               database.dialect().now() + " ORDER BY pay_deadline LIMIT ?"),
      find_("SELECT r.i, o.user_id, o.request_id, o.status, o.reason, o.amount_minor, o.currency, " +
            database.dialect().epoch_ms("o.created_at") + ", " + database.dialect().epoch_ms("o.updated_at") +
            ", " + database.dialect().epoch_ms("o.pay_deadline") + " FROM " +
            database.dialect().rows({{"order_no"}}) +
            " CROSS JOIN order_info o ON o.order_no = r.order_no WHERE o.user_id IS NOT NULL"),
      find_lines_("SELECT r.i, t.product_id, t.quantity, t.unit_price_minor FROM " +
                  database.dialect().rows({{"order_no"}}) +
                  " CROSS JOIN order_item t ON t.order_no = r.order_no ORDER BY r.i, t.line_no"),
      moves_(
          "SELECT m.sequence, m.order_no, m.from_status, m.to_status, m.actor, m.reason, " +
          database.dialect().epoch_ms("m.moved_at") + " FROM " +
          database.dialect().rows({{"order_no"}, {"after", RowType::Integer}}) +
          " CROSS JOIN order_move m ON m.order_no = r.order_no AND m.sequence > r.after ORDER BY m.sequence"),
      now_("SELECT " + database.dialect().epoch_ms(database.dialect().now())) {}

std::vector<Result<AcceptAnswer>> SqlOrderStore::accept(std::span<const NewOrder> orders) {
  return acceptance_.accept(orders);
}

Result<OutboxLease> SqlOrderStore::lease_outbox(std::size_t max, Milliseconds lease) {
  return tables_.outbox.lease(max, lease);
}

Result<std::vector<MarkOutcome>> SqlOrderStore::mark_outbox(const LeaseToken& token,
                                                            std::span<const OutboxMark> marks) {
  return tables_.outbox.mark(token, marks);
}

std::unique_ptr<OutboxWatch> SqlOrderStore::watch_outbox(std::function<void()> wake) {
  return tables_.watchers.add(std::move(wake));
}

std::vector<Result<LockOutcome>> SqlOrderStore::lock_stock(std::span<const LockRequest> requests) {
  return locking_.lock(requests);
}

std::vector<Result<PayAnswer>> SqlOrderStore::pay(std::span<const Payment> payments) {
  return payments_.pay(payments);
}

std::vector<Result<CancelAnswer>> SqlOrderStore::cancel(std::span<const CancelRequest> requests) {
  return endings_.cancel(requests);
}

std::vector<Result<ExpireAnswer>> SqlOrderStore::expire(std::span<const OrderNo> orders) {
  return endings_.expire(orders);
}

std::vector<Result<AbandonOutcome>> SqlOrderStore::abandon(std::span<const OrderNo> orders) {
  return endings_.abandon(orders);
}

Result<std::vector<OrderNo>> SqlOrderStore::overdue(std::size_t limit) {
  return tables_.database.read([&](sql::Transaction& tx) -> Result<std::vector<OrderNo>> {
    std::vector<OrderNo> overdue;
    for (auto& [order_no] : tx.query<std::string>(overdue_, limit)) overdue.emplace_back(std::move(order_no));
    return overdue;
  });
}

Result<std::vector<std::optional<Order>>> SqlOrderStore::find(std::span<const OrderNo> order_nos) {
  if (order_nos.empty()) return std::vector<std::optional<Order>>{};
  return tables_.database.read([&](sql::Transaction& tx) -> Result<std::vector<std::optional<Order>>> {
    std::vector<std::optional<Order>> found(order_nos.size());
    const auto json = as_rows(order_nos);
    for (auto& [i, user, request, status, reason, amount, currency, created, updated, deadline] :
         tx.query<std::int64_t, std::string, std::string, std::string, std::string, std::int64_t, std::string,
                  std::int64_t, std::int64_t, std::optional<std::int64_t>>(find_, json)) {
      auto& order = found[static_cast<std::size_t>(i)].emplace();
      order.order_no = order_nos[static_cast<std::size_t>(i)];
      order.user = UserId(std::move(user));
      order.request = RequestId(std::move(request));
      order.status = parse_status(status);
      order.reason = std::move(reason);
      order.amount_minor = amount;
      order.currency = std::move(currency);
      order.created_at = instant(created);
      order.updated_at = instant(updated);
      if (deadline) order.pay_deadline = instant(*deadline);
    }
    for (auto& [i, sku, quantity, price] :
         tx.query<std::int64_t, std::string, std::int64_t, std::int64_t>(find_lines_, json)) {
      auto& order = found[static_cast<std::size_t>(i)];
      if (order) order->lines.push_back({Sku(std::move(sku)), quantity, price});
    }
    return found;
  });
}

Result<std::vector<OrderMove>> SqlOrderStore::moves_after(std::span<const OrderNo> order_nos,
                                                          std::int64_t sequence) {
  if (order_nos.empty()) return std::vector<OrderMove>{};
  sql::JsonRows rows;
  std::set<OrderNo> once(order_nos.begin(), order_nos.end());
  for (const auto& order_no : once) rows.add(order_no, sequence);
  const auto json = rows.take();
  return tables_.database.read([&](sql::Transaction& tx) -> Result<std::vector<OrderMove>> {
    std::vector<OrderMove> moves;
    for (auto& [number, order_no, from, to, actor, reason, at] :
         tx.query<std::int64_t, std::string, std::optional<std::string>, std::string, std::string,
                  std::string, std::int64_t>(moves_, json)) {
      moves.push_back({number, OrderNo(std::move(order_no)), parse_optional(from), parse_status(to),
                       std::move(actor), std::move(reason), instant(at)});
    }
    return moves;
  });
}

Result<TimePoint> SqlOrderStore::now() {
  return tables_.database.read([&](sql::Transaction& tx) -> Result<TimePoint> {
    return instant(std::get<0>(tx.query<std::int64_t>(now_).front()));
  });
}

}  // namespace penstock::order_store_sql
