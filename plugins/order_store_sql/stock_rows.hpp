// The rows of stock: counters per product and warehouse, locks per order line, and their flows. Each
// call changes a counter once, however many orders share it.
#pragma once

#include "penstock/orders/order.hpp"
#include "sql/database.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace penstock::order_store_sql {

struct Shelf {
  orders::WarehouseId warehouse;
  std::int64_t available = 0;
};

// In warehouse order, which is the order of taking.
using Shelves = std::map<orders::Sku, std::vector<Shelf>>;

// A part of an order line, from one warehouse.
struct Allocation {
  orders::OrderNo order_no;
  std::int64_t line_no = 0;
  orders::Sku sku;
  orders::WarehouseId warehouse;
  std::int64_t quantity = 0;
};

// Takes an order's lines from the shelves, warehouse by warehouse, splitting lines where it must. All
// lines or none: false changes nothing.
bool allocate(const orders::OrderNo& order_no, std::span<const orders::Line> lines, Shelves& shelves,
              std::vector<Allocation>& allocations);

enum class LockEnd { Sold, Released };

class StockRows {
 public:
  explicit StockRows(const sql::Dialect& dialect);

  Shelves shelves(sql::Transaction& tx, const std::vector<orders::Sku>& skus) const;
  // Effect: available to locked, with a lock row and a LOCK flow per allocation.
  void lock(sql::Transaction& tx, std::span<const Allocation> allocations) const;
  // Effect: what these orders have locked becomes sold, or available again, with its flows.
  void end_locks(sql::Transaction& tx, std::span<const orders::OrderNo> order_nos, LockEnd end) const;

 private:
  const std::string shelves_;
  const std::string take_;
  const std::string add_lock_;
  const std::string add_lock_flow_;
  const std::string locked_;
  const std::string sell_;
  const std::string give_back_;
  const std::string end_lock_;
  const std::string end_flow_;
};

}  // namespace penstock::order_store_sql
