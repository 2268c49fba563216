#include "order_store_sql/order_rows.hpp"

#include "sql/json_rows.hpp"

namespace penstock::order_store_sql {

using namespace orders;
using sql::RowType;

namespace {

std::string move_statement(const sql::Dialect& d) {
  const auto deadline = "CASE WHEN r.to_status = 'WAITING_PAY' THEN " +
                        d.after(d.now(), "order_info.pay_within_ms") + " ELSE order_info.pay_deadline END";
  return d.update_from(
      "order_info",
      {{"status", "r.to_status"}, {"reason", "r.why"}, {"pay_deadline", deadline}, {"updated_at", d.now()}},
      d.rows({{"moved"}, {"from_status"}, {"to_status"}, {"actor"}, {"why"}}),
      "order_info.order_no = r.moved AND order_info.status = r.from_status");
}

}  // namespace

OrderRows::OrderRows(const sql::Dialect& d)
    : states_(
          "SELECT r.i, o.status, o.reason, o.user_id, o.amount_minor, o.currency, CASE WHEN o.pay_deadline "
          "IS NULL "
          "THEN 0 ELSE " +
          d.epoch_ms(d.now()) + " - " + d.epoch_ms("o.pay_deadline") + " END FROM " + d.rows({{"order_no"}}) +
          " CROSS JOIN order_info o ON o.order_no = r.order_no" + std::string(d.for_update())),
      lines_("SELECT r.i, t.product_id, t.quantity FROM " + d.rows({{"order_no"}}) +
             " CROSS JOIN order_item t ON t.order_no = r.order_no ORDER BY r.i, t.line_no"),
      move_(move_statement(d)),
      record_(
          "INSERT INTO order_move(order_no, from_status, to_status, actor, reason, moved_at) SELECT r.moved, "
          "r.from_status, r.to_status, r.actor, r.why, " +
          d.now() + " FROM " + d.rows({{"moved"}, {"from_status"}, {"to_status"}, {"actor"}, {"why"}}) + "") {
}

std::vector<std::optional<OrderState>> OrderRows::states(sql::Transaction& tx,
                                                         std::span<const OrderNo> order_nos) const {
  std::vector<std::optional<OrderState>> states(order_nos.size());
  const auto rows =
      tx.query<std::int64_t, std::string, std::string, std::string, std::int64_t, std::string, std::int64_t>(
          states_, as_rows(order_nos));
  for (const auto& [i, status, reason, user, amount, currency, overdue] : rows) {
    states[static_cast<std::size_t>(i)] = OrderState{
        parse_status(status), reason == kReasonAbandoned, user, amount, currency, Milliseconds(overdue)};
  }
  return states;
}

std::vector<std::vector<Line>> OrderRows::lines(sql::Transaction& tx,
                                                std::span<const OrderNo> order_nos) const {
  std::vector<std::vector<Line>> lines(order_nos.size());
  for (auto& [i, sku, quantity] :
       tx.query<std::int64_t, std::string, std::int64_t>(lines_, as_rows(order_nos))) {
    lines[static_cast<std::size_t>(i)].push_back({Sku(std::move(sku)), quantity});
  }
  return lines;
}

void OrderRows::move(sql::Transaction& tx, std::span<const Move> moves) const {
  if (moves.empty()) return;
  sql::JsonRows rows;
  for (const auto& move : moves) {
    rows.add(move.order_no, to_string(move.from), to_string(move.to), move.actor, move.reason);
  }
  const auto json = rows.take();
  if (tx.execute(move_, json) != moves.size()) {
    throw sql::Failure(sql::FailureKind::Raced, "an order moved on while its batch was being worked on");
  }
  tx.execute(record_, json);
}

std::string as_rows(std::span<const OrderNo> order_nos) {
  sql::JsonRows rows;
  for (const auto& order_no : order_nos) rows.add(order_no);
  return rows.take();
}

OrderStatus parse_status(const std::string& name) {
  if (const auto status = status_from(name)) return *status;
  throw sql::Failure(sql::FailureKind::Damaged, "order_info.status '" + name + "' is no status");
}

}  // namespace penstock::order_store_sql
