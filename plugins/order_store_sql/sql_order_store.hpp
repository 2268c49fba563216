// SqlOrderStore: the order store over a SQL database. The operations live beside it, one file each.
// Thread rule: as OrderStore.
#pragma once

#include "order_store_sql/acceptance.hpp"
#include "order_store_sql/endings.hpp"
#include "order_store_sql/payments.hpp"
#include "order_store_sql/stock_locking.hpp"
#include "penstock/orders/order_store.hpp"

namespace penstock::order_store_sql {

class SqlOrderStore : public orders::OrderStore {
 public:
  SqlOrderStore(sql::Database& database, Random& random);

  std::vector<Result<orders::AcceptAnswer>> accept(std::span<const orders::NewOrder> orders) override;
  Result<orders::OutboxLease> lease_outbox(std::size_t max, Milliseconds lease) override;
  Result<std::vector<orders::MarkOutcome>> mark_outbox(const LeaseToken& token,
                                                       std::span<const orders::OutboxMark> marks) override;
  [[nodiscard]] std::unique_ptr<orders::OutboxWatch> watch_outbox(std::function<void()> wake) override;
  std::vector<Result<orders::LockOutcome>> lock_stock(std::span<const orders::LockRequest> requests) override;
  std::vector<Result<orders::PayAnswer>> pay(std::span<const orders::Payment> payments) override;
  std::vector<Result<orders::CancelAnswer>> cancel(std::span<const orders::CancelRequest> requests) override;
  std::vector<Result<orders::ExpireAnswer>> expire(std::span<const orders::OrderNo> orders) override;
  Result<std::vector<orders::OrderNo>> overdue(std::size_t limit) override;
  std::vector<Result<orders::AbandonOutcome>> abandon(std::span<const orders::OrderNo> orders) override;
  Result<std::vector<std::optional<orders::Order>>> find(std::span<const orders::OrderNo> orders) override;
  Result<std::vector<orders::OrderMove>> moves_after(std::span<const orders::OrderNo> orders,
                                                     std::int64_t sequence) override;
  Result<TimePoint> now() override;

 private:
  Tables tables_;
  Acceptance acceptance_;
  StockLocking locking_;
  Payments payments_;
  Endings endings_;
  const std::string overdue_;
  const std::string find_;
  const std::string find_lines_;
  const std::string moves_;
  const std::string now_;
};

}  // namespace penstock::order_store_sql
