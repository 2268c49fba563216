#include "order_store_sql/audit.hpp"

#include "penstock/orders/events.hpp"

namespace penstock::order_store_sql {

using namespace orders;

namespace {

// How long an event may wait past its time before its absence at the transport counts as lost.
constexpr std::string_view kStaleAfterMs = "-300000";

std::string replaced(std::string text, const std::string& mark, const std::string& value) {
  const auto at = text.find(mark);
  return at == std::string::npos ? text : text.replace(at, mark.size(), value);
}

// Counters of stock against the sum of the lock rows in one state.
std::string counter_query(const std::string& counter, const std::string& state) {
  return "SELECT s.product_id, s.warehouse_id, s." + counter +
         ", COALESCE(l.units, 0) FROM stock s LEFT JOIN (SELECT product_id, warehouse_id, SUM(quantity) AS "
         "units FROM "
         "stock_lock WHERE state = '" +
         state +
         "' GROUP BY product_id, warehouse_id) l ON l.product_id = s.product_id AND l.warehouse_id = "
         "s.warehouse_id "
         "WHERE s." +
         counter + " <> COALESCE(l.units, 0)";
}

// Lines of orders in one status against the sum of their lock rows in the state that belongs to it.
std::string covered_query(const std::string& status, const std::string& state) {
  return "SELECT x.order_no, x.product_id, x.units, x.quantity FROM (SELECT t.order_no, t.product_id, "
         "t.quantity, "
         "(SELECT COALESCE(SUM(l.quantity), 0) FROM stock_lock l WHERE l.order_no = t.order_no AND l.line_no "
         "= "
         "t.line_no AND l.state = '" +
         state +
         "') AS units FROM order_info o CROSS JOIN order_item t ON t.order_no = o.order_no WHERE o.status = "
         "'" +
         status + "') x WHERE x.units <> x.quantity";
}

std::string without_event_query(const sql::Dialect& d, const std::string& condition, std::string_view type) {
  const auto id = d.concat("o.order_no", "'" + event_id(type, OrderNo()).str() + "'");
  return "SELECT o.order_no, '', 0, 1 FROM order_info o WHERE o.user_id IS NOT NULL AND " + condition +
         " AND NOT EXISTS (SELECT 1 FROM mq_outbox e WHERE e.event_id = " + id + ")";
}

}  // namespace

Audit::Audit(const sql::Dialect& dialect) {
  add_stock_checks();
  add_lock_checks();
  add_order_checks();
  add_event_checks(dialect);
  add_payment_checks();
}

void Audit::add_stock_checks() {
  checks_.push_back(
      {"equation",
       "warehouse {place}: available + locked + sold is {found}, initial + adjustments is {needed}",
       "SELECT product_id, warehouse_id, available + locked + sold, initial + adjustments FROM stock "
       "WHERE initial + adjustments <> available + locked + sold"});
  checks_.push_back(
      {"negative_counter", "warehouse {place}: a counter is {found}, the least is {needed}",
       "SELECT product_id, warehouse_id, CASE WHEN available < 0 THEN available WHEN locked < 0 THEN "
       "locked ELSE sold END, 0 FROM stock WHERE available < 0 OR locked < 0 OR sold < 0"});
  checks_.push_back(
      {"negative_free", "free is {found}: more units are held by PROCESSING orders than are available",
       "SELECT h.product_id, '', COALESCE(s.units, 0) - h.units, 0 FROM (SELECT t.product_id, "
       "SUM(t.quantity) AS units FROM order_info o CROSS JOIN order_item t ON t.order_no = o.order_no "
       "WHERE o.status = 'PROCESSING' GROUP BY t.product_id) h LEFT JOIN (SELECT product_id, "
       "SUM(available) AS units FROM stock GROUP BY product_id) s ON s.product_id = h.product_id WHERE "
       "COALESCE(s.units, 0) < h.units"});
  checks_.push_back({"locked_rows", "warehouse {place}: locked says {found}, its lock rows say {needed}",
                     counter_query("locked", "LOCKED")});
  checks_.push_back({"sold_rows", "warehouse {place}: sold says {found}, its lock rows say {needed}",
                     counter_query("sold", "SOLD")});
  checks_.push_back(
      {"stock_without_campaign", "warehouse {place}: the product has no campaign row",
       "SELECT s.product_id, s.warehouse_id, 0, 1 FROM stock s WHERE NOT EXISTS (SELECT 1 FROM campaign "
       "c WHERE c.product_id = s.product_id)"});
}

void Audit::add_lock_checks() {
  checks_.push_back(
      {"lock_without_stock", "{found} units locked in warehouse {place}, which has no stock row",
       "SELECT l.order_no, l.warehouse_id, l.quantity, 0 FROM stock_lock l WHERE NOT EXISTS (SELECT 1 "
       "FROM stock s WHERE s.product_id = l.product_id AND s.warehouse_id = l.warehouse_id)"});
  checks_.push_back(
      {"lock_without_line", "{found} units locked in warehouse {place} for a line that does not exist",
       "SELECT l.order_no, l.warehouse_id, l.quantity, 0 FROM stock_lock l WHERE NOT EXISTS (SELECT 1 "
       "FROM order_item t WHERE t.order_no = l.order_no AND t.line_no = l.line_no AND t.product_id = "
       "l.product_id)"});
  checks_.push_back(
      {"lock_state", "{found} units in warehouse {place} are in a state that the order's status forbids",
       "SELECT l.order_no, l.warehouse_id, l.quantity, 0 FROM stock_lock l JOIN order_info o ON "
       "o.order_no = l.order_no WHERE NOT ((o.status = 'WAITING_PAY' AND l.state = 'LOCKED') OR (o.status "
       "= 'PAID' AND l.state = 'SOLD') OR (o.status = 'CANCELLED' AND l.state = 'RELEASED') OR (o.status "
       "= 'REFUNDED' AND l.state <> 'LOCKED'))"});
  checks_.push_back({"waiting_without_locks", "product {place}: {found} of {needed} units are locked",
                     covered_query("WAITING_PAY", "LOCKED")});
  checks_.push_back({"paid_without_sale", "product {place}: {found} of {needed} units are sold",
                     covered_query("PAID", "SOLD")});
  checks_.push_back(
      {"released_twice", "{found} RELEASE flows of one line in warehouse {place}",
       "SELECT order_no, warehouse_id, COUNT(*), 1 FROM stock_flow WHERE flow_type = 'RELEASE' GROUP BY "
       "order_no, line_no, warehouse_id HAVING COUNT(*) > 1"});
  checks_.push_back(
      {"lock_without_flow", "warehouse {place}: flows tell of {found} units, the lock row of {needed}",
       "SELECT x.order_no, x.warehouse_id, x.units, x.quantity FROM (SELECT l.order_no, l.warehouse_id, "
       "l.quantity, (SELECT COALESCE(SUM(f.quantity), 0) FROM stock_flow f WHERE f.order_no = l.order_no "
       "AND f.line_no = l.line_no AND f.warehouse_id = l.warehouse_id AND f.flow_type = CASE l.state WHEN "
       "'LOCKED' THEN 'LOCK' WHEN 'SOLD' THEN 'SELL' ELSE 'RELEASE' END) AS units FROM stock_lock l) x "
       "WHERE x.units <> x.quantity"});
  checks_.push_back(
      {"flow_without_lock", "{found} units flowed in warehouse {place}, which the lock row does not show",
       "SELECT f.order_no, f.warehouse_id, f.quantity, 0 FROM stock_flow f WHERE NOT EXISTS (SELECT 1 FROM "
       "stock_lock l WHERE l.order_no = f.order_no AND l.line_no = f.line_no AND l.warehouse_id = "
       "f.warehouse_id AND (f.flow_type = 'LOCK' OR (f.flow_type = 'SELL' AND l.state = 'SOLD') OR "
       "(f.flow_type = 'RELEASE' AND l.state = 'RELEASED')))"});
}

void Audit::add_order_checks() {
  checks_.push_back(
      {"order_without_items", "the order has no line",
       "SELECT o.order_no, '', 0, 1 FROM order_info o WHERE o.user_id IS NOT NULL AND NOT EXISTS (SELECT "
       "1 FROM order_item t WHERE t.order_no = o.order_no)"});
  checks_.push_back(
      {"amount", "the amount is {found}, its lines sum to {needed}",
       "SELECT x.order_no, '', x.amount_minor, x.lines_minor FROM (SELECT o.order_no, o.amount_minor, "
       "(SELECT COALESCE(SUM(t.quantity * t.unit_price_minor), 0) FROM order_item t WHERE t.order_no = "
       "o.order_no) AS lines_minor FROM order_info o) x WHERE x.amount_minor <> x.lines_minor"});
  checks_.push_back(
      {"order_without_move", "no move tells how the order came to its status",
       "SELECT o.order_no, '', 0, 1 FROM order_info o WHERE o.user_id IS NOT NULL AND NOT EXISTS (SELECT "
       "1 FROM order_move m WHERE m.order_no = o.order_no AND m.to_status = o.status)"});
  checks_.push_back(
      {"item_without_order", "product {place}: {found} units belong to no order",
       "SELECT t.order_no, t.product_id, t.quantity, 0 FROM order_item t WHERE NOT EXISTS (SELECT 1 FROM "
       "order_info o WHERE o.order_no = t.order_no AND o.user_id IS NOT NULL)"});
}

void Audit::add_event_checks(const sql::Dialect& d) {
  const std::string words = "the event that tells of the order's status was never written";
  checks_.push_back({"order_without_event", words, without_event_query(d, "1 = 1", kOrderCreated)});
  checks_.push_back(
      {"waiting_without_event", words, without_event_query(d, "o.status = 'WAITING_PAY'", kOrderPayDue)});
  checks_.push_back({"paid_without_event", words, without_event_query(d, "o.status = 'PAID'", kOrderPaid)});
  checks_.push_back(
      {"ended_without_event", words,
       without_event_query(d, "(o.status = 'CANCELLED' OR o.status = 'FAILED')", kOrderReleased)});
  checks_.push_back(
      {"event_without_order", "an event {place} tells of an order that does not exist",
       "SELECT e.event_id, e.event_type, 0, 1 FROM mq_outbox e WHERE NOT EXISTS (SELECT 1 FROM order_info "
       "o WHERE o.order_no = e.order_no AND o.user_id IS NOT NULL)"});
  checks_.push_back({"handled_but_processing", "the consume log says handled, the order is still PROCESSING",
                     "SELECT c.event_id, '', 0, 1 FROM order_info o JOIN mq_consume_log c ON c.event_id = " +
                         d.concat("o.order_no", "'" + event_id(kOrderCreated, OrderNo()).str() + "'") +
                         " WHERE o.status = 'PROCESSING'"});
  checks_.push_back(
      {"dead_event", "an event {place} was given up after {found} attempts",
       "SELECT e.event_id, e.event_type, e.attempts, 0 FROM mq_outbox e WHERE e.state = 'DEAD'"});
  checks_.push_back(
      {"stale_event", "an event {place} of an ended order is unpublished since long, after {found} attempts",
       "SELECT e.event_id, e.event_type, e.attempts, 0 FROM mq_outbox e JOIN order_info o ON o.order_no = "
       "e.order_no WHERE e.next_at <= " +
           d.after(d.now(), kStaleAfterMs) + " AND o.status <> 'PROCESSING' AND o.status <> 'WAITING_PAY'"});
}

void Audit::add_payment_checks() {
  checks_.push_back(
      {"paid_without_payment", "{found} payments paid for the order, needed {needed}",
       "SELECT x.order_no, '', x.payments, 1 FROM (SELECT o.order_no, (SELECT COUNT(*) FROM payment p "
       "WHERE p.order_no = o.order_no AND p.outcome = 'PAID') AS payments FROM order_info o WHERE "
       "o.status = 'PAID' OR o.status = 'REFUNDED') x WHERE x.payments <> 1"});
  checks_.push_back(
      {"payment_without_sale", "provider {place}: a payment counts as PAID, the order does not",
       "SELECT p.payment_no, p.provider, 0, 1 FROM payment p WHERE p.outcome = 'PAID' AND NOT EXISTS "
       "(SELECT 1 FROM order_info o WHERE o.order_no = p.order_no AND (o.status = 'PAID' OR o.status = "
       "'REFUNDED'))"});
}

std::vector<std::string> Audit::kinds() const {
  std::vector<std::string> kinds;
  for (const auto& check : checks_) kinds.push_back(check.kind);
  return kinds;
}

std::vector<BookDifference> Audit::differences(sql::Transaction& tx) const {
  std::vector<BookDifference> differences;
  for (const auto& check : checks_) run(tx, check, differences);
  return differences;
}

void Audit::run(sql::Transaction& tx, const Check& check, std::vector<BookDifference>& differences) const {
  const auto found = tx.query<std::string, std::string, std::int64_t, std::int64_t>(check.query + " LIMIT ?",
                                                                                    kMaxPerKind + 1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i == kMaxPerKind) {
      differences.push_back(
          {check.kind, "more", "only the first " + std::to_string(kMaxPerKind) + " are listed"});
      return;
    }
    const auto& [subject, place, is, needed] = found[i];
    auto detail = replaced(replaced(replaced(check.words, "{place}", place), "{found}", std::to_string(is)),
                           "{needed}", std::to_string(needed));
    differences.push_back({check.kind, subject, std::move(detail)});
  }
}

}  // namespace penstock::order_store_sql
