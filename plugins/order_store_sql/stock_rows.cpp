#include "order_store_sql/stock_rows.hpp"

#include "order_store_sql/order_rows.hpp"
#include "sql/json_rows.hpp"

#include <algorithm>

namespace penstock::order_store_sql {

using namespace orders;
using sql::RowType;

namespace {

using Quantities = std::map<std::pair<Sku, WarehouseId>, std::int64_t>;

// The counters of one product and warehouse, changed by one quantity.
std::string counter_statement(const sql::Dialect& d, std::initializer_list<sql::Assignment> counters,
                              std::string_view condition) {
  auto statement = d.update_from(
      "stock", counters, d.rows({{"sku"}, {"warehouse"}, {"units", RowType::Integer}}),
      "stock.product_id = r.sku AND stock.warehouse_id = r.warehouse AND " + std::string(condition));
  return statement;
}

std::string rows_of(const Quantities& quantities) {
  sql::JsonRows rows;
  for (const auto& [key, quantity] : quantities) rows.add(key.first, key.second, quantity);
  return rows.take();
}

std::string rows_of(std::span<const Allocation> allocations) {
  sql::JsonRows rows;
  for (const auto& a : allocations) rows.add(a.order_no, a.line_no, a.warehouse, a.sku, a.quantity);
  return rows.take();
}

Quantities sums(std::span<const Allocation> allocations) {
  Quantities quantities;
  for (const auto& a : allocations) quantities[{a.sku, a.warehouse}] += a.quantity;
  return quantities;
}

std::string allocation_rows(const sql::Dialect& d) {
  return d.rows(
      {{"order_no"}, {"line_no", RowType::Integer}, {"warehouse"}, {"sku"}, {"units", RowType::Integer}});
}

bool enough(std::span<const Line> lines, const Shelves& shelves) {
  std::map<Sku, std::int64_t> needed;
  for (const auto& line : lines) needed[line.sku] += line.quantity;
  return std::all_of(needed.begin(), needed.end(), [&](const auto& need) {
    const auto found = shelves.find(need.first);
    if (found == shelves.end()) return false;
    std::int64_t available = 0;
    for (const auto& shelf : found->second) available += shelf.available;
    return available >= need.second;
  });
}

}  // namespace

bool allocate(const OrderNo& order_no, std::span<const Line> lines, Shelves& shelves,
              std::vector<Allocation>& allocations) {
  if (!enough(lines, shelves)) return false;
  std::int64_t line_no = 0;
  for (const auto& line : lines) {
    ++line_no;
    std::int64_t missing = line.quantity;
    for (auto& shelf : shelves[line.sku]) {
      const auto taken = std::min(missing, shelf.available);
      if (taken == 0) continue;
      allocations.push_back({order_no, line_no, line.sku, shelf.warehouse, taken});
      shelf.available -= taken;
      missing -= taken;
    }
  }
  return true;
}

StockRows::StockRows(const sql::Dialect& d)
    : shelves_("SELECT s.product_id, s.warehouse_id, s.available FROM " + d.rows({{"sku"}}) +
               " CROSS JOIN stock s ON s.product_id = r.sku ORDER BY s.product_id, s.warehouse_id" +
               std::string(d.for_update())),
      take_(counter_statement(d,
                              {{"available", "stock.available - r.units"},
                               {"locked", "stock.locked + r.units"},
                               {"version", "stock.version + 1"},
                               {"updated_at", d.now()}},
                              "stock.available >= r.units")),
      add_lock_(
          "INSERT INTO stock_lock(order_no, line_no, warehouse_id, product_id, quantity, state, created_at, "
          "updated_at) SELECT r.order_no, r.line_no, r.warehouse, r.sku, r.units, 'LOCKED', " +
          d.now() + ", " + d.now() + " FROM " + allocation_rows(d)),
      add_lock_flow_(
          "INSERT INTO stock_flow(order_no, line_no, warehouse_id, flow_type, sequence, product_id, "
          "quantity, created_at) SELECT r.order_no, r.line_no, r.warehouse, 'LOCK', 1, r.sku, r.units, " +
          d.now() + " FROM " + allocation_rows(d)),
      locked_("SELECT l.product_id, l.warehouse_id, SUM(l.quantity) FROM " + d.rows({{"order_no"}}) +
              " CROSS JOIN stock_lock l ON l.order_no = r.order_no WHERE l.state = 'LOCKED' "
              "GROUP BY l.product_id, l.warehouse_id ORDER BY l.product_id, l.warehouse_id"),
      sell_(counter_statement(d,
                              {{"locked", "stock.locked - r.units"},
                               {"sold", "stock.sold + r.units"},
                               {"version", "stock.version + 1"},
                               {"updated_at", d.now()}},
                              "stock.locked >= r.units")),
      give_back_(counter_statement(d,
                                   {{"locked", "stock.locked - r.units"},
                                    {"available", "stock.available + r.units"},
                                    {"version", "stock.version + 1"},
                                    {"updated_at", d.now()}},
                                   "stock.locked >= r.units")),
      end_lock_(d.update_from("stock_lock", {{"state", "r.ended"}, {"updated_at", d.now()}},
                              d.rows({{"ended_order"}, {"ended"}, {"flow"}}),
                              "stock_lock.order_no = r.ended_order AND stock_lock.state = 'LOCKED'")),
      end_flow_(
          "INSERT INTO stock_flow(order_no, line_no, warehouse_id, flow_type, sequence, product_id, "
          "quantity, "
          "created_at) SELECT l.order_no, l.line_no, l.warehouse_id, r.flow, 1, l.product_id, l.quantity, " +
          d.now() + " FROM " + d.rows({{"ended_order"}, {"ended"}, {"flow"}}) +
          " CROSS JOIN stock_lock l ON l.order_no = r.ended_order AND l.state = 'LOCKED'") {}

Shelves StockRows::shelves(sql::Transaction& tx, const std::vector<Sku>& skus) const {
  sql::JsonRows rows;
  for (const auto& sku : skus) rows.add(sku);
  Shelves shelves;
  for (auto& [sku, warehouse, available] :
       tx.query<std::string, std::string, std::int64_t>(shelves_, rows.take())) {
    shelves[Sku(std::move(sku))].push_back({WarehouseId(std::move(warehouse)), available});
  }
  return shelves;
}

void StockRows::lock(sql::Transaction& tx, std::span<const Allocation> allocations) const {
  if (allocations.empty()) return;
  const auto quantities = sums(allocations);
  if (tx.execute(take_, rows_of(quantities)) != quantities.size()) {
    throw sql::Failure(sql::FailureKind::Raced, "stock was taken while a batch was being allocated");
  }
  const auto json = rows_of(allocations);
  tx.execute(add_lock_, json);
  tx.execute(add_lock_flow_, json);
}

void StockRows::end_locks(sql::Transaction& tx, std::span<const OrderNo> order_nos, LockEnd end) const {
  if (order_nos.empty()) return;
  Quantities quantities;
  for (auto& [sku, warehouse, units] :
       tx.query<std::string, std::string, std::int64_t>(locked_, as_rows(order_nos))) {
    quantities[{Sku(std::move(sku)), WarehouseId(std::move(warehouse))}] = units;
  }
  if (quantities.empty()) return;
  if (tx.execute(end == LockEnd::Sold ? sell_ : give_back_, rows_of(quantities)) != quantities.size()) {
    throw sql::Failure(sql::FailureKind::Invariant, "stock has fewer units locked than its lock rows say");
  }
  sql::JsonRows rows;
  for (const auto& order_no : order_nos) {
    if (end == LockEnd::Sold)
      rows.add(order_no, "SOLD", "SELL");
    else
      rows.add(order_no, "RELEASED", "RELEASE");
  }
  const auto json = rows.take();
  tx.execute(end_flow_, json);
  tx.execute(end_lock_, json);
}

}  // namespace penstock::order_store_sql
