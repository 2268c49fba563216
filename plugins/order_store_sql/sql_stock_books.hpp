// SqlStockBooks: the books over the same tables as the order store.
// Thread rule: as StockBooks.
#pragma once

#include "order_store_sql/audit.hpp"
#include "order_store_sql/stock_loading.hpp"
#include "penstock/orders/stock_books.hpp"

namespace penstock::order_store_sql {

class SqlStockBooks : public orders::StockBooks {
 public:
  explicit SqlStockBooks(sql::Database& database);

  Result<orders::LoadReport> load(std::span<const orders::StockRow> rows, orders::LoadMode mode) override;
  Result<std::vector<std::optional<orders::Product>>> products(std::span<const orders::Sku> skus) override;
  // "Latest first" is by the time of acceptance: how likely a request is repeated depends on its age.
  Result<orders::GateImage> gate_image(std::size_t answered_limit) override;
  Result<std::vector<orders::GateSku>> gate_skus() override;
  Result<orders::Books> books() override;
  Result<orders::StoreFigures> figures() override;
  Result<bool> consumed(const EventId& event) override;

 private:
  std::vector<orders::GateSku> read_gate_skus(sql::Transaction& tx) const;
  std::vector<orders::GateHold> read_holds(sql::Transaction& tx) const;
  std::vector<orders::GatePurchase> read_purchases(sql::Transaction& tx) const;
  std::vector<orders::GateAnswered> read_answered(sql::Transaction& tx, std::size_t limit) const;
  std::vector<orders::SkuBooks> read_skus(sql::Transaction& tx) const;
  void count_orders(sql::Transaction& tx, orders::Books& books) const;
  void count_outbox(sql::Transaction& tx, orders::StoreFigures& figures) const;

  sql::Database& database_;
  StockLoading loading_;
  const Audit audit_;
  const std::string gate_skus_;
  const std::string holds_;
  const std::string oldest_pending_;
  const std::string overdue_;
};

}  // namespace penstock::order_store_sql
