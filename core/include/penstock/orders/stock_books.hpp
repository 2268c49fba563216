// StockBooks: the books of the database, SKU by SKU: what was loaded, where every unit is now, and
// whether the rows agree.
//
//   initial + adjustments = free + held + locked + sold
//
// where available (a stock row's counter) = free + held: units of PROCESSING orders are held at the
// gate and not yet locked in the database. locked and sold are counters *and* sums of lock rows; both
// must say the same.
//
// Thread rule and errors: as OrderStore.
#pragma once

#include "penstock/orders/stock_gate.hpp"
#include "penstock/result.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock::orders {

// One row of a stock file. Several rows of one SKU (one per warehouse) must agree on everything but
// warehouse and quantity.
struct StockRow {
  int line = 0;  // in the file, for messages
  Sku sku;
  std::string name;
  WarehouseId warehouse;
  std::int64_t quantity = 0;
  std::int64_t price_minor = 0;
  std::string currency;
  SaleTerms terms;
  Milliseconds pay_within{0};
};

struct StockRowProblem {
  int line = 0;
  std::string message;
};

struct LoadReport {
  std::size_t added = 0;                  // stock rows new in the books
  std::size_t changed = 0;                // products whose name, price or terms changed
  std::size_t unchanged = 0;              // stock rows that were there already
  std::vector<StockRowProblem> problems;  // not empty: nothing was written
};

enum class LoadMode { Apply, DryRun };

struct Product {
  Sku sku;
  std::string name;
  std::int64_t price_minor = 0;
  std::string currency;
  SaleTerms terms;
  Milliseconds pay_within{0};
};

struct SkuBooks {
  Sku sku;
  std::int64_t initial = 0;
  std::int64_t adjustments = 0;
  std::int64_t available = 0;
  std::int64_t held = 0;  // rows: lines of PROCESSING orders
  std::int64_t locked = 0;
  std::int64_t sold = 0;
  std::int64_t locked_rows = 0;  // sum of LOCKED lock rows
  std::int64_t sold_rows = 0;    // sum of SOLD lock rows

  std::int64_t free() const { return available - held; }
  // Units that the equation cannot place; 0 when it holds.
  std::int64_t imbalance() const { return initial + adjustments - free() - held - locked - sold; }
};

// A place where the rows contradict each other.
struct BookDifference {
  std::string kind;     // stable: "equation", "negative_free", "locked_rows", "order_without_event", ...
  std::string subject;  // the SKU, order or event
  std::string detail;
};

struct Books {
  std::vector<SkuBooks> skus;                  // by name
  std::map<OrderStatus, std::int64_t> orders;  // every status, also those with none
  std::int64_t abandoned = 0;                  // tombstones
  std::int64_t outbox_pending = 0;
  std::int64_t outbox_dead = 0;
  std::vector<BookDifference> differences;  // empty: the books balance
};

struct StoreFigures {
  std::map<std::string, std::int64_t> outbox;  // by state: NEW, LEASED, RETRY, DEAD (SENT is history)
  Milliseconds outbox_oldest_pending{0};
  std::map<OrderStatus, std::int64_t> overdue;  // WAITING_PAY past its deadline; PROCESSING over a minute
  std::int64_t imbalance_units = 0;             // sum of |imbalance| over the stock rows
};

class StockBooks {
 public:
  static constexpr std::string_view kServiceName = "stock_books";
  virtual ~StockBooks() = default;

  // All rows in one transaction or, when any row has a problem, none. The same rows again change
  // nothing. A loaded quantity cannot be changed by loading: that is an adjustment.
  virtual Result<LoadReport> load(std::span<const StockRow> rows, LoadMode mode) = 0;

  // One entry per SKU, in order; none where there is no such product.
  virtual Result<std::vector<std::optional<Product>>> products(std::span<const Sku> skus) = 0;

  // What a gate must hold, read in one transaction. At most `answered_limit` ended requests, latest
  // first.
  virtual Result<GateImage> gate_image(std::size_t answered_limit) = 0;
  // The gate's part of every SKU, without holds: to notice SKUs and terms loaded since.
  virtual Result<std::vector<GateSku>> gate_skus() = 0;

  // Everything, read in one transaction; grows with the number of orders. For audits, not for loops.
  virtual Result<Books> books() = 0;
  // Cheap: grows with the backlog, not with the number of orders.
  virtual Result<StoreFigures> figures() = 0;
  // True when the consume log says that this event had its effect.
  virtual Result<bool> consumed(const EventId& event) = 0;
};

struct SchemaStatus {
  int current = 0;                   // newest applied step, 0 for an empty database
  int target = 0;                    // newest step this program knows
  std::vector<std::string> pending;  // names of the steps to apply, in order
};

// The store's tables. An optional ability of a store, provided beside it.
class SchemaAdmin {
 public:
  static constexpr std::string_view kServiceName = "schema";
  virtual ~SchemaAdmin() = default;
  // Errors: Conflict when the database is newer than this program.
  virtual Result<SchemaStatus> status() = 0;
  // Effect: applies the pending steps, each in its own transaction. Forward only.
  virtual Result<SchemaStatus> migrate() = 0;
};

}  // namespace penstock::orders
