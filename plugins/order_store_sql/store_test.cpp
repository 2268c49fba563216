// What the contract cannot see from outside: guards inside the tables, plans of the queries that run in
// loops, and a batch that meets a broken row.
#include "order_store_sql/store_fixture.hpp"
#include "penstock/orders/events.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace penstock::order_store_sql {

using namespace orders;

class StoreTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StoreTest);
  CPPUNIT_TEST(the_tables_refuse_what_would_break_the_books);
  CPPUNIT_TEST(a_broken_row_fails_its_own_order_only);
  CPPUNIT_TEST(queries_that_run_in_loops_use_their_index);
  CPPUNIT_TEST(allocation_splits_a_line_over_warehouses_in_order);
  CPPUNIT_TEST(allocation_takes_all_or_nothing);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    open_.emplace(dir_.path() / "store.db");
    const StockRow row{1, Sku("A"), "A", WarehouseId("W1"), 10, 1000, "EUR", {}, std::chrono::hours(1)};
    CPPUNIT_ASSERT(open_->books.load({&row, 1}, LoadMode::Apply).ok());
  }

  void the_tables_refuse_what_would_break_the_books() {
    // The last guard: it holds also against a defect in this program and against a hand with a client.
    for (const char* statement : {
             "UPDATE stock SET available = available - 1",
             "UPDATE stock SET available = -1, initial = -1",
             "UPDATE stock SET locked = -1, available = available + 1",
             "UPDATE stock SET sold = -1, available = available + 1",
             "UPDATE stock SET available = 'many'",
             "INSERT INTO order_item VALUES ('O', 1, 'A', 0, 1)",
             "INSERT INTO order_item VALUES ('O', 1, 'A', 1, -1)",
             "INSERT INTO order_info(order_no, user_id, request_id, status, reason, amount_minor, currency, "
             "pay_within_ms, trace, created_at, updated_at) VALUES ('O', 'U', 'R', 'LOST', '', 1, 'EUR', 1, "
             "'', '', '')",
             "INSERT INTO order_info(order_no, user_id, request_id, status, reason, amount_minor, currency, "
             "pay_within_ms, trace, created_at, updated_at) VALUES ('O', 'U', 'R', 'WAITING_PAY', '', 1, "
             "'EUR', 1, '', "
             "'', '')",
             "INSERT INTO mq_outbox(event_id, event_type, order_no, body, trace, state, due_at, created_at, "
             "updated_at) "
             "VALUES ('E', 'T', 'O', '', '', 'NEW', '', '', '')",
         }) {
      const auto refused = open_->database->write([&](sql::Transaction& tx) -> Result<void> {
        tx.execute(statement);
        return {};
      });
      CPPUNIT_ASSERT_MESSAGE(statement, !refused.ok() && refused.error().code == ErrorCode::Corrupt);
    }
  }

  void a_broken_row_fails_its_own_order_only() {
    // Someone lowered the counter by hand: that order is Corrupt, the one beside it is cancelled.
    accept_and_lock("1");
    accept_and_lock("2");
    const auto damaged = open_->database->write([](sql::Transaction& tx) -> Result<void> {
      tx.execute("UPDATE stock_lock SET quantity = 5 WHERE order_no = 'O-1'");
      return {};
    });
    CPPUNIT_ASSERT(damaged.ok());
    const std::vector<CancelRequest> batch{{OrderNo("O-1"), UserId(), "operator"},
                                           {OrderNo("O-2"), UserId(), "operator"}};
    const auto answers = open_->store.cancel(batch);
    CPPUNIT_ASSERT(!answers[0].ok() && answers[0].error().code == ErrorCode::Corrupt);
    CPPUNIT_ASSERT(answers[1]->outcome == CancelOutcome::Cancelled);
  }

  void queries_that_run_in_loops_use_their_index() {
    // A loop that scans the history grows slower every day.
    for (const char* query : {
             "SELECT order_no FROM order_info WHERE status = 'WAITING_PAY' AND pay_deadline <= 'x' ORDER BY "
             "pay_deadline",
             "SELECT COUNT(*) FROM order_info WHERE status = 'PROCESSING' AND created_at <= 'x'",
             "SELECT o.order_no FROM order_info o WHERE o.status = 'PROCESSING' OR o.status = 'WAITING_PAY'",
             "SELECT id FROM mq_outbox WHERE next_at <= 'x' ORDER BY next_at, id LIMIT 5",
             "SELECT state, COUNT(*) FROM mq_outbox WHERE next_at IS NOT NULL GROUP BY state",
             "SELECT COUNT(*) FROM mq_outbox WHERE state = 'DEAD'",
             "SELECT sequence FROM order_move m WHERE m.order_no = 'x' AND m.sequence > 5",
         }) {
      const auto plan = open_->database->read([&](sql::Transaction& tx) -> Result<std::string> {
        std::string text;
        for (const auto& [id, parent, unused, detail] :
             tx.query<std::int64_t, std::int64_t, std::int64_t, std::string>("EXPLAIN QUERY PLAN " +
                                                                             std::string(query))) {
          text += detail + "; ";
        }
        return text;
      });
      CPPUNIT_ASSERT_MESSAGE(query + (": " + *plan), plan->find(" USING ") != std::string::npos);
    }
  }

  void allocation_splits_a_line_over_warehouses_in_order() {
    // Greedy in warehouse order, so that two processes choose alike.
    Shelves shelves{{Sku("A"), {{WarehouseId("W1"), 2}, {WarehouseId("W2"), 0}, {WarehouseId("W3"), 15}}}};
    std::vector<Allocation> allocations;
    const std::vector<Line> lines{{Sku("A"), 13}, {Sku("A"), 1}};
    CPPUNIT_ASSERT(allocate(OrderNo("O"), lines, shelves, allocations));
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), allocations.size());
    CPPUNIT_ASSERT(allocations[0].warehouse.str() == "W1" && allocations[0].quantity == 2 &&
                   allocations[0].line_no == 1);
    CPPUNIT_ASSERT(allocations[1].warehouse.str() == "W3" && allocations[1].quantity == 11);
    CPPUNIT_ASSERT(allocations[2].warehouse.str() == "W3" && allocations[2].line_no == 2);
    CPPUNIT_ASSERT_EQUAL(std::int64_t(3), shelves[Sku("A")][2].available);
  }

  void allocation_takes_all_or_nothing() {
    // A refused order must not take from the next one in its batch.
    Shelves shelves{{Sku("A"), {{WarehouseId("W1"), 5}}}, {Sku("B"), {{WarehouseId("W1"), 1}}}};
    std::vector<Allocation> allocations;
    const std::vector<Line> lines{{Sku("A"), 5}, {Sku("B"), 2}};
    CPPUNIT_ASSERT(!allocate(OrderNo("O"), lines, shelves, allocations));
    CPPUNIT_ASSERT(allocations.empty());
    CPPUNIT_ASSERT_EQUAL(std::int64_t(5), shelves[Sku("A")][0].available);
  }

 private:
  void accept_and_lock(const std::string& name) {
    const NewOrder order{OrderNo("O-" + name), UserId("U"),     RequestId(name),
                         BodyHash("H"),        {{Sku("A"), 1}}, ""};
    CPPUNIT_ASSERT(open_->store.accept({&order, 1})[0]->outcome == AcceptOutcome::Accepted);
    const LockRequest request{event_id(kOrderCreated, order.order_no), order.order_no};
    CPPUNIT_ASSERT(*open_->store.lock_stock({&request, 1})[0] == LockOutcome::Locked);
  }

  testkit::TempDir dir_;
  std::optional<OpenStore> open_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(StoreTest);

}  // namespace penstock::order_store_sql
