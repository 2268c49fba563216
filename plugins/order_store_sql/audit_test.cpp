#include "order_store_sql/audit.hpp"

#include "order_store_sql/store_fixture.hpp"
#include "penstock/orders/events.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <set>

namespace penstock::order_store_sql {

using namespace orders;

namespace {

struct Damage {
  std::string kind;
  std::string statement;
};

// One hand-made contradiction for every kind that the audit knows.
const std::vector<Damage> kDamages{
    {"equation", "UPDATE stock SET available = available - 1"},
    {"negative_counter", "UPDATE stock SET available = -5"},
    {"negative_free", "UPDATE stock SET available = 0, initial = locked + sold"},
    {"locked_rows", "UPDATE stock SET locked = locked + 1, available = available - 1"},
    {"sold_rows", "UPDATE stock SET sold = sold - 1, available = available + 1"},
    {"stock_without_campaign", "DELETE FROM campaign"},
    {"lock_without_stock", "UPDATE stock_lock SET warehouse_id = 'W9' WHERE order_no = 'O-waiting'"},
    {"lock_without_line", "UPDATE stock_lock SET line_no = 9 WHERE order_no = 'O-waiting'"},
    {"lock_state", "UPDATE stock_lock SET state = 'LOCKED' WHERE order_no = 'O-cancelled'"},
    {"lock_state", "UPDATE order_info SET status = 'PROCESSING' WHERE order_no = 'O-waiting'"},
    {"waiting_without_locks", "DELETE FROM stock_lock WHERE order_no = 'O-waiting'"},
    {"paid_without_sale", "DELETE FROM stock_lock WHERE order_no = 'O-paid'"},
    {"released_twice",
     "INSERT INTO stock_flow SELECT order_no, line_no, warehouse_id, flow_type, 2, product_id, "
     "quantity, created_at FROM stock_flow WHERE flow_type = 'RELEASE'"},
    {"lock_without_flow", "DELETE FROM stock_flow WHERE order_no = 'O-paid' AND flow_type = 'SELL'"},
    {"flow_without_lock",
     "UPDATE stock_flow SET flow_type = 'RELEASE' WHERE order_no = 'O-paid' AND flow_type = 'SELL'"},
    {"order_without_items", "DELETE FROM order_item WHERE order_no = 'O-processing'"},
    {"amount", "UPDATE order_item SET quantity = 2 WHERE order_no = 'O-processing'"},
    {"order_without_move", "DELETE FROM order_move WHERE order_no = 'O-paid' AND to_status = 'PAID'"},
    {"item_without_order", "INSERT INTO order_item VALUES ('O-none', 1, 'A', 1, 1000)"},
    {"order_without_event", "DELETE FROM mq_outbox WHERE event_type = 'order.created'"},
    {"waiting_without_event", "DELETE FROM mq_outbox WHERE event_type = 'order.pay_due'"},
    {"paid_without_event", "DELETE FROM mq_outbox WHERE event_type = 'order.paid'"},
    {"ended_without_event", "DELETE FROM mq_outbox WHERE event_type = 'order.released'"},
    {"event_without_order", "UPDATE mq_outbox SET order_no = 'O-none' WHERE event_type = 'order.paid'"},
    {"handled_but_processing",
     "INSERT INTO mq_consume_log VALUES ('O-processing:order.created', 'order_consumer', 'O-processing', "
     "'now')"},
    {"dead_event", "UPDATE mq_outbox SET state = 'DEAD', next_at = NULL WHERE event_type = 'order.released'"},
    {"stale_event",
     "UPDATE mq_outbox SET next_at = '2020-01-01 00:00:00.000' WHERE event_type = 'order.released'"},
    {"paid_without_payment", "DELETE FROM payment"},
    {"payment_without_sale", "UPDATE payment SET order_no = 'O-waiting'"},
};

}  // namespace

class AuditTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(AuditTest);
  CPPUNIT_TEST(sound_books_have_no_difference);
  CPPUNIT_TEST(each_damage_is_found_under_its_own_name);
  CPPUNIT_TEST(every_check_is_tried);
  CPPUNIT_TEST(many_differences_are_cut_with_a_word);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    open_.emplace(dir_.path() / "audit.db");
    const StockRow row{1, Sku("A"), "A", WarehouseId("W1"), 10, 1000, "EUR", {}, std::chrono::hours(1)};
    CPPUNIT_ASSERT(open_->books.load({&row, 1}, LoadMode::Apply).ok());
    for (const char* name : {"processing", "waiting", "paid", "cancelled"}) accept(name);
    for (const char* name : {"waiting", "paid", "cancelled"}) lock(name);
    const Payment payment{"bank", PaymentNo("P1"), OrderNo("O-paid"), 1000, "EUR"};
    CPPUNIT_ASSERT(open_->store.pay({&payment, 1})[0]->outcome == PayOutcome::Paid);
    const CancelRequest cancel{OrderNo("O-cancelled"), UserId(), "operator"};
    CPPUNIT_ASSERT(open_->store.cancel({&cancel, 1})[0]->outcome == CancelOutcome::Cancelled);
    const OrderNo tombstone("O-tombstone");
    CPPUNIT_ASSERT(*open_->store.abandon({&tombstone, 1})[0] == AbandonOutcome::Abandoned);
  }

  void sound_books_have_no_difference() {
    // An audit that cries wolf is switched off.
    CPPUNIT_ASSERT(kinds_found("SELECT 1").empty());
  }

  void each_damage_is_found_under_its_own_name() {
    // A contradiction that the audit misses is one that nobody will ever see.
    for (const auto& damage : kDamages) {
      CPPUNIT_ASSERT_MESSAGE(damage.kind, kinds_found(damage.statement).contains(damage.kind));
    }
  }

  void every_check_is_tried() {
    // A new check without a damage above would be a query that may never find anything.
    std::set<std::string> tried;
    for (const auto& damage : kDamages) tried.insert(damage.kind);
    for (const auto& kind : Audit(sql::sqlite_dialect()).kinds())
      CPPUNIT_ASSERT_MESSAGE(kind, tried.contains(kind));
  }

  void many_differences_are_cut_with_a_word() {
    // A broken database must not fill the operator's memory and screen.
    const auto found =
        differences_after("INSERT INTO order_item SELECT 'O-none', key + 1, 'A', 1, 1000 FROM json_each('[" +
                          zeros(150) + "]')");
    CPPUNIT_ASSERT_EQUAL(Audit::kMaxPerKind + 1, found.size());
    CPPUNIT_ASSERT_EQUAL(std::string("more"), found.back().subject);
  }

 private:
  void accept(const std::string& name) {
    const NewOrder order{OrderNo("O-" + name), UserId("U"),     RequestId(name),
                         BodyHash("H"),        {{Sku("A"), 1}}, ""};
    CPPUNIT_ASSERT(open_->store.accept({&order, 1})[0]->outcome == AcceptOutcome::Accepted);
  }
  void lock(const std::string& name) {
    const OrderNo order_no("O-" + name);
    const LockRequest request{event_id(kOrderCreated, order_no), order_no};
    CPPUNIT_ASSERT(*open_->store.lock_stock({&request, 1})[0] == LockOutcome::Locked);
  }
  static std::string zeros(int count) {
    std::string text = "0";
    for (int i = 1; i < count; ++i) text += ",0";
    return text;
  }

  // In a transaction that is rolled back, with the database's own guards off.
  std::vector<BookDifference> differences_after(const std::string& statement) {
    std::vector<BookDifference> found;
    const Audit audit(open_->database->dialect());
    const auto undone = open_->database->write([&](sql::Transaction& tx) -> Result<void> {
      tx.execute("PRAGMA ignore_check_constraints = 1");
      tx.execute(statement);
      found = audit.differences(tx);
      return Error{ErrorCode::Closed, "rolled back"};
    });
    CPPUNIT_ASSERT_MESSAGE(undone.error().message, undone.error().code == ErrorCode::Closed);
    return found;
  }
  std::set<std::string> kinds_found(const std::string& statement) {
    std::set<std::string> kinds;
    for (const auto& difference : differences_after(statement)) kinds.insert(difference.kind);
    return kinds;
  }

  testkit::TempDir dir_;
  std::optional<OpenStore> open_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(AuditTest);

}  // namespace penstock::order_store_sql
