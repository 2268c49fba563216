// Loading stock and campaigns: all rows or none, and the same rows again change nothing.
#pragma once

#include "penstock/orders/stock_books.hpp"
#include "sql/database.hpp"

namespace penstock::order_store_sql {

// The highest price: with the most lines and units an order's amount still fits 64 bits.
inline constexpr std::int64_t kMaxPriceMinor = 100'000'000'000;

class StockLoading {
 public:
  explicit StockLoading(sql::Database& database);

  Result<orders::LoadReport> load(std::span<const orders::StockRow> rows, orders::LoadMode mode);
  std::vector<std::optional<orders::Product>> products(sql::Transaction& tx,
                                                       std::span<const orders::Sku> skus) const;

 private:
  struct Plan;
  Plan plan(sql::Transaction& tx, std::span<const orders::StockRow> rows) const;
  void plan_products(sql::Transaction& tx, std::span<const orders::StockRow> rows, Plan& plan) const;
  void plan_stock(sql::Transaction& tx, std::span<const orders::StockRow> rows, Plan& plan) const;
  void apply(sql::Transaction& tx, const Plan& plan) const;

  sql::Database& database_;
  const std::string products_;
  const std::string stock_;
  const std::string insert_campaign_;
  const std::string update_campaign_;
  const std::string insert_stock_;
};

}  // namespace penstock::order_store_sql
