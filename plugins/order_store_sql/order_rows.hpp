// The rows of orders: their states, their lines, and the moves between states.
#pragma once

#include "penstock/orders/order.hpp"
#include "sql/database.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock::order_store_sql {

// What decides about an order's next move. Tombstones are not orders and have no state.
struct OrderState {
  orders::OrderStatus status = orders::OrderStatus::Processing;
  bool tombstone = false;
  std::string user;
  std::int64_t amount_minor = 0;
  std::string currency;
  Milliseconds overdue{0};  // since the pay deadline by the database's clock; negative: still to go
};

struct Move {
  orders::OrderNo order_no;
  orders::OrderStatus from;
  orders::OrderStatus to;
  std::string_view actor;
  std::string_view reason;  // of the order's new state; names on the wire
};

class OrderRows {
 public:
  explicit OrderRows(const sql::Dialect& dialect);

  // One entry per number, in order; none where the number is not taken. Locks the rows on engines that
  // have row locks.
  std::vector<std::optional<OrderState>> states(sql::Transaction& tx,
                                                std::span<const orders::OrderNo> order_nos) const;
  // One entry per number, in order.
  std::vector<std::vector<orders::Line>> lines(sql::Transaction& tx,
                                               std::span<const orders::OrderNo> order_nos) const;
  // Effect: each order leaves `from` for `to`, and its move is recorded. A move to WAITING_PAY sets the
  // pay deadline. Throws Failure(Raced) when an order is not in `from` any more.
  void move(sql::Transaction& tx, std::span<const Move> moves) const;

 private:
  const std::string states_;
  const std::string lines_;
  const std::string move_;
  const std::string record_;
};

// The JSON parameter of statements that take order numbers only.
std::string as_rows(std::span<const orders::OrderNo> order_nos);

// The status with this name; throws Failure(Damaged) for any other text.
orders::OrderStatus parse_status(const std::string& name);

}  // namespace penstock::order_store_sql
