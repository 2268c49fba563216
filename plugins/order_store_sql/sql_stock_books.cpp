#include "order_store_sql/sql_stock_books.hpp"

#include "order_store_sql/order_rows.hpp"

#include <algorithm>

namespace penstock::order_store_sql {

using namespace orders;

namespace {

using Optional = std::optional<std::int64_t>;

constexpr std::string_view kProcessingAgeMs = "-60000";  // older than this, a PROCESSING order is overdue

constexpr std::string_view kHeldUnits =
    "(SELECT t.product_id, SUM(t.quantity) AS units FROM order_info o CROSS JOIN order_item t ON t.order_no "
    "= "
    "o.order_no WHERE o.status = 'PROCESSING' GROUP BY t.product_id)";

constexpr std::string_view kPurchases =
    "SELECT o.user_id, t.product_id, SUM(t.quantity) FROM order_info o CROSS JOIN order_item t ON t.order_no "
    "= "
    "o.order_no WHERE o.status = 'PAID' GROUP BY o.user_id, t.product_id";

constexpr std::string_view kAnswered =
    "SELECT user_id, request_id, body_hash, order_no FROM order_info WHERE user_id IS NOT NULL AND status <> "
    "'PROCESSING' AND status <> 'WAITING_PAY' ORDER BY order_no DESC LIMIT ?";

constexpr std::string_view kOrdersByStatus =
    "SELECT status, COUNT(*), SUM(CASE WHEN user_id IS NULL THEN 1 ELSE 0 END) FROM order_info GROUP BY "
    "status";

constexpr std::string_view kPendingByState =
    "SELECT state, COUNT(*) FROM mq_outbox WHERE next_at IS NOT NULL GROUP BY state";
constexpr std::string_view kDead = "SELECT COUNT(*) FROM mq_outbox WHERE state = 'DEAD'";

constexpr std::string_view kImbalance =
    "SELECT COALESCE(SUM(ABS(initial + adjustments - available - locked - sold)), 0) FROM stock";

std::string sku_books_query() {
  return "SELECT c.product_id, COALESCE(s.initial, 0), COALESCE(s.adjustments, 0), COALESCE(s.available, 0), "
         "COALESCE(h.units, 0), COALESCE(s.locked, 0), COALESCE(s.sold, 0), COALESCE(l.locked, 0), "
         "COALESCE(l.sold, 0) "
         "FROM campaign c LEFT JOIN (SELECT product_id, SUM(initial) AS initial, SUM(adjustments) AS "
         "adjustments, "
         "SUM(available) AS available, SUM(locked) AS locked, SUM(sold) AS sold FROM stock GROUP BY "
         "product_id) s ON "
         "s.product_id = c.product_id LEFT JOIN " +
         std::string(kHeldUnits) +
         " h ON h.product_id = c.product_id LEFT JOIN (SELECT product_id, SUM(CASE WHEN state = 'LOCKED' "
         "THEN quantity "
         "ELSE 0 END) AS locked, SUM(CASE WHEN state = 'SOLD' THEN quantity ELSE 0 END) AS sold FROM "
         "stock_lock GROUP "
         "BY product_id) l ON l.product_id = c.product_id ORDER BY c.product_id";
}

std::optional<TimePoint> instant(const Optional& epoch_ms) {
  if (!epoch_ms) return std::nullopt;
  return TimePoint(Milliseconds(*epoch_ms));
}

std::int64_t number(sql::Transaction& tx, std::string_view query) {
  return std::get<0>(tx.query<std::int64_t>(query).at(0));
}

}  // namespace

SqlStockBooks::SqlStockBooks(sql::Database& database)
    : database_(database),
      loading_(database),
      audit_(database.dialect()),
      gate_skus_("SELECT c.product_id, " + database.dialect().epoch_ms("c.starts_at") + ", " +
                 database.dialect().epoch_ms("c.ends_at") +
                 ", c.limit_per_user, c.max_per_order, COALESCE((SELECT SUM(s.available) FROM stock s WHERE "
                 "s.product_id = c.product_id), 0) - COALESCE(h.units, 0) FROM campaign c LEFT JOIN " +
                 std::string(kHeldUnits) + " h ON h.product_id = c.product_id ORDER BY c.product_id"),
      holds_("SELECT o.order_no, o.user_id, o.request_id, o.body_hash, " +
             database.dialect().epoch_ms("o.created_at") +
             ", t.product_id, t.quantity FROM order_info o CROSS JOIN order_item t ON t.order_no = "
             "o.order_no WHERE "
             "o.status = 'PROCESSING' OR o.status = 'WAITING_PAY' ORDER BY o.order_no, t.line_no"),
      oldest_pending_("SELECT COALESCE(" + database.dialect().epoch_ms(database.dialect().now()) + " - " +
                      database.dialect().epoch_ms("MIN(created_at)") +
                      ", 0) FROM mq_outbox WHERE next_at IS NOT NULL"),
      overdue_("SELECT (SELECT COUNT(*) FROM order_info WHERE status = 'WAITING_PAY' AND pay_deadline <= " +
               database.dialect().now() +
               "), (SELECT COUNT(*) FROM order_info WHERE status = 'PROCESSING' AND created_at <= " +
               database.dialect().after(database.dialect().now(), kProcessingAgeMs) + ")") {}

Result<LoadReport> SqlStockBooks::load(std::span<const StockRow> rows, LoadMode mode) {
  return loading_.load(rows, mode);
}

Result<std::vector<std::optional<Product>>> SqlStockBooks::products(std::span<const Sku> skus) {
  return database_.read([&](sql::Transaction& tx) -> Result<std::vector<std::optional<Product>>> {
    return loading_.products(tx, skus);
  });
}

// The gate's image --------------------------------------------------------------------------------

Result<GateImage> SqlStockBooks::gate_image(std::size_t answered_limit) {
  return database_.read([&](sql::Transaction& tx) -> Result<GateImage> {
    return GateImage{read_gate_skus(tx), read_holds(tx), read_purchases(tx),
                     read_answered(tx, answered_limit)};
  });
}

Result<std::vector<GateSku>> SqlStockBooks::gate_skus() {
  return database_.read(
      [&](sql::Transaction& tx) -> Result<std::vector<GateSku>> { return read_gate_skus(tx); });
}

std::vector<GateSku> SqlStockBooks::read_gate_skus(sql::Transaction& tx) const {
  std::vector<GateSku> skus;
  for (auto& [sku, starts, ends, per_user, per_order, free] :
       tx.query<std::string, Optional, Optional, Optional, Optional, std::int64_t>(gate_skus_)) {
    skus.push_back({Sku(std::move(sku)), free, {instant(starts), instant(ends), per_user, per_order}});
  }
  return skus;
}

std::vector<GateHold> SqlStockBooks::read_holds(sql::Transaction& tx) const {
  std::vector<GateHold> holds;
  for (auto& [order_no, user, request, body, created, sku, quantity] :
       tx.query<std::string, std::string, std::string, std::string, std::int64_t, std::string, std::int64_t>(
           holds_)) {
    if (holds.empty() || holds.back().order_no.str() != order_no) {
      holds.push_back({OrderNo(std::move(order_no)),
                       UserId(std::move(user)),
                       RequestId(std::move(request)),
                       BodyHash(std::move(body)),
                       {},
                       TimePoint(Milliseconds(created)),
                       0});
    }
    holds.back().lines.push_back({Sku(std::move(sku)), quantity});
  }
  return holds;
}

std::vector<GatePurchase> SqlStockBooks::read_purchases(sql::Transaction& tx) const {
  std::vector<GatePurchase> purchases;
  for (auto& [user, sku, quantity] : tx.query<std::string, std::string, std::int64_t>(kPurchases)) {
    purchases.push_back({UserId(std::move(user)), Sku(std::move(sku)), quantity});
  }
  return purchases;
}

std::vector<GateAnswered> SqlStockBooks::read_answered(sql::Transaction& tx, std::size_t limit) const {
  std::vector<GateAnswered> answered;
  for (auto& [user, request, body, order_no] :
       tx.query<std::string, std::string, std::string, std::string>(kAnswered, limit)) {
    answered.push_back({UserId(std::move(user)), RequestId(std::move(request)), BodyHash(std::move(body)),
                        OrderNo(std::move(order_no))});
  }
  return answered;
}

// The books ---------------------------------------------------------------------------------------

Result<Books> SqlStockBooks::books() {
  return database_.read([&](sql::Transaction& tx) -> Result<Books> {
    Books books;
    books.skus = read_skus(tx);
    count_orders(tx, books);
    for (const auto& [state, count] : tx.query<std::string, std::int64_t>(kPendingByState)) {
      books.outbox_pending += count;
    }
    books.outbox_dead = number(tx, kDead);
    books.differences = audit_.differences(tx);
    return books;
  });
}

std::vector<SkuBooks> SqlStockBooks::read_skus(sql::Transaction& tx) const {
  std::vector<SkuBooks> skus;
  for (auto& [sku, initial, adjustments, available, held, locked, sold, locked_rows, sold_rows] :
       tx.query<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                std::int64_t, std::int64_t, std::int64_t>(sku_books_query())) {
    skus.push_back(
        {Sku(std::move(sku)), initial, adjustments, available, held, locked, sold, locked_rows, sold_rows});
  }
  return skus;
}

void SqlStockBooks::count_orders(sql::Transaction& tx, Books& books) const {
  for (const auto status : kAllStatuses) books.orders[status] = 0;
  for (const auto& [name, count, tombstones] :
       tx.query<std::string, std::int64_t, std::int64_t>(kOrdersByStatus)) {
    books.orders[parse_status(name)] = count - tombstones;
    books.abandoned += tombstones;
  }
}

// Figures -----------------------------------------------------------------------------------------

Result<StoreFigures> SqlStockBooks::figures() {
  return database_.read([&](sql::Transaction& tx) -> Result<StoreFigures> {
    StoreFigures figures;
    count_outbox(tx, figures);
    const auto [waiting, processing] = tx.query<std::int64_t, std::int64_t>(overdue_).at(0);
    figures.overdue = {{OrderStatus::WaitingPay, waiting}, {OrderStatus::Processing, processing}};
    figures.imbalance_units = number(tx, kImbalance);
    return figures;
  });
}

void SqlStockBooks::count_outbox(sql::Transaction& tx, StoreFigures& figures) const {
  figures.outbox = {{"NEW", 0}, {"LEASED", 0}, {"RETRY", 0}};
  for (auto& [state, count] : tx.query<std::string, std::int64_t>(kPendingByState))
    figures.outbox[state] = count;
  figures.outbox["DEAD"] = number(tx, kDead);
  // Another process's clock may have been ahead when it wrote the row.
  figures.outbox_oldest_pending = Milliseconds(std::max<std::int64_t>(0, number(tx, oldest_pending_)));
}

Result<bool> SqlStockBooks::consumed(const EventId& event) {
  return database_.read([&](sql::Transaction& tx) -> Result<bool> {
    return !tx.query<std::string>("SELECT consumer FROM mq_consume_log WHERE event_id = ? LIMIT 1",
                                  event.str())
                .empty();
  });
}

}  // namespace penstock::order_store_sql
