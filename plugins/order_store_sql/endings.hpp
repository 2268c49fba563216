// How orders end unsold: cancelled by their user or the operator, expired, or abandoned before they
// ever were one.
#pragma once

#include "order_store_sql/batch.hpp"
#include "order_store_sql/tables.hpp"

namespace penstock::order_store_sql {

class Endings {
 public:
  explicit Endings(Tables& tables);

  std::vector<Result<orders::CancelAnswer>> cancel(std::span<const orders::CancelRequest> requests);
  std::vector<Result<orders::ExpireAnswer>> expire(std::span<const orders::OrderNo> order_nos);
  std::vector<Result<orders::AbandonOutcome>> abandon(std::span<const orders::OrderNo> order_nos);

 private:
  using Items = std::vector<std::size_t>;
  template <class Answer, class Item, class Round>
  Result<std::vector<Result<Answer>>> end_batch(std::span<const Item> items, const Rounds& rounds,
                                                const Round& round);
  bool cancel_round(sql::Transaction& tx, std::span<const orders::CancelRequest> requests, const Items& items,
                    Answers<orders::CancelAnswer>& outcomes) const;
  bool expire_round(sql::Transaction& tx, std::span<const orders::OrderNo> order_nos, const Items& items,
                    Answers<orders::ExpireAnswer>& outcomes) const;
  Result<std::vector<Result<orders::AbandonOutcome>>> abandon_batch(
      std::span<const orders::OrderNo> order_nos);
  void release(sql::Transaction& tx, const std::vector<Move>& moves) const;

  Tables& tables_;
  const std::string bury_;
};

}  // namespace penstock::order_store_sql
