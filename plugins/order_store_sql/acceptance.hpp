// Accepting orders: the order, its lines, its first move and its event, in one transaction per batch.
#pragma once

#include "order_store_sql/batch.hpp"
#include "order_store_sql/tables.hpp"

namespace penstock::order_store_sql {

class Acceptance {
 public:
  explicit Acceptance(Tables& tables);

  // Prices, currency and pay time are those of the campaign rows at this moment. Answers of one item,
  // beside the outcomes: InvalidArgument (no lines, a quantity out of range, lines of different
  // currencies) and Conflict (the number is another request's order).
  std::vector<Result<orders::AcceptAnswer>> accept(std::span<const orders::NewOrder> orders);

 private:
  struct Terms {
    std::int64_t price_minor = 0;
    std::string currency;
    std::int64_t pay_within_ms = 0;
  };
  using TermsBySku = std::map<orders::Sku, Terms>;
  struct Priced {
    std::size_t item = 0;
    std::int64_t amount_minor = 0;
    std::string currency;
    std::int64_t pay_within_ms = 0;
  };
  using Outcomes = Answers<orders::AcceptAnswer>;
  using Orders = std::span<const orders::NewOrder>;
  using Items = std::vector<std::size_t>;

  Result<std::vector<Result<orders::AcceptAnswer>>> accept_batch(Orders orders);
  bool accept_round(sql::Transaction& tx, Orders orders, const Items& items, Outcomes& outcomes) const;
  Items settle_known(sql::Transaction& tx, Orders orders, const Items& items, Outcomes& outcomes) const;
  TermsBySku terms_of(sql::Transaction& tx, Orders orders, const Items& items) const;
  std::vector<Priced> price(Orders orders, const Items& items, const TermsBySku& terms,
                            Outcomes& outcomes) const;
  void insert(sql::Transaction& tx, Orders orders, const std::vector<Priced>& priced,
              const TermsBySku& terms) const;
  void insert_orders(sql::Transaction& tx, Orders orders, const std::vector<Priced>& priced) const;

  Tables& tables_;
  const std::string known_requests_;
  const std::string taken_numbers_;
  const std::string terms_;
  const std::string insert_orders_;
  const std::string insert_items_;
  const std::string record_;
};

}  // namespace penstock::order_store_sql
