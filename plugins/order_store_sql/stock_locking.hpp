// Locking the stock of accepted orders: consume log, stock, locks, flows, state and event, in one
// transaction per batch.
#pragma once

#include "order_store_sql/batch.hpp"
#include "order_store_sql/tables.hpp"

namespace penstock::order_store_sql {

class StockLocking {
 public:
  explicit StockLocking(Tables& tables);

  std::vector<Result<orders::LockOutcome>> lock(std::span<const orders::LockRequest> requests);

 private:
  using Requests = std::span<const orders::LockRequest>;
  using Items = std::vector<std::size_t>;
  using Outcomes = Answers<orders::LockOutcome>;
  struct Work;

  Result<std::vector<Result<orders::LockOutcome>>> lock_batch(Requests requests);
  bool lock_round(sql::Transaction& tx, Requests requests, const Items& items, Outcomes& outcomes) const;
  Items settle_handled(sql::Transaction& tx, Requests requests, const Items& items, Outcomes& outcomes) const;
  void lock_orders(sql::Transaction& tx, Requests requests, const Items& items, Outcomes& outcomes) const;
  void write_log(sql::Transaction& tx, Requests requests, const Items& items) const;

  Tables& tables_;
  const std::string handled_;
  const std::string log_;
};

}  // namespace penstock::order_store_sql
