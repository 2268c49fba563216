// Payments: recorded once per provider number, and the sale of what an order has locked.
#pragma once

#include "order_store_sql/batch.hpp"
#include "order_store_sql/tables.hpp"

namespace penstock::order_store_sql {

class Payments {
 public:
  explicit Payments(Tables& tables);

  // A payment with the wrong amount for an order that has ended is to be refunded, not refused: the
  // money has come, whatever the amount. Answer of one item beside the outcomes: InvalidArgument (an
  // empty provider, number or currency, or a negative amount).
  std::vector<Result<orders::PayAnswer>> pay(std::span<const orders::Payment> payments);

 private:
  using Batch = std::span<const orders::Payment>;
  using Items = std::vector<std::size_t>;
  using Outcomes = Answers<orders::PayAnswer>;
  using States = std::vector<std::optional<OrderState>>;

  Result<std::vector<Result<orders::PayAnswer>>> pay_batch(Batch payments);
  bool pay_round(sql::Transaction& tx, Batch payments, const Items& items, Outcomes& outcomes) const;
  std::vector<std::optional<orders::PayOutcome>> recorded(sql::Transaction& tx, Batch payments,
                                                          const Items& items) const;
  void sell(sql::Transaction& tx, const std::vector<orders::OrderNo>& order_nos) const;

  Tables& tables_;
  const std::string recorded_;
  const std::string record_;
};

}  // namespace penstock::order_store_sql
