#include "order_consumer/stock_locker.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_order_store.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <cstdlib>

namespace {

using namespace penstock;
using namespace penstock::orders;
using order_consumer::StockLocker;

EventItem item(const std::string& number, std::uint32_t attempt = 1) {
  const OrderNo order_no(number);
  return {{event_id(kOrderCreated, order_no), std::string(kOrderCreated), order_no, {}}, attempt};
}

class StockLockerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StockLockerTest);
  CPPUNIT_TEST(each_outcome_settles_its_own_event);
  CPPUNIT_TEST(failures_are_counted_by_reason);
  CPPUNIT_TEST(an_outage_retries_and_broken_books_park);
  CPPUNIT_TEST(a_failure_after_the_commit_redelivers_everything);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeOrderStore store_;
  testkit::RecordingMetrics metrics_;
  testkit::SeededRandom random_{3};
  StockLocker locker_{RetryPolicy({}, random_), store_, metrics_};

  double failures(const std::string& reason) {
    return metrics_.value("penstock_stock_lock_failures_total{reason=\"" + reason + "\"}");
  }

 public:
  void tearDown() override {
    unsetenv("PENSTOCK_FAILPOINTS");
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
  }

  void each_outcome_settles_its_own_event() {
    // One order that fails must not hold back the others of its batch.
    store_.on_lock = [](const LockRequest& request) -> Result<LockOutcome> {
      if (request.order_no == OrderNo("2")) return LockOutcome::NoStock;
      if (request.order_no == OrderNo("3")) return LockOutcome::AlreadyHandled;
      if (request.order_no == OrderNo("4")) return Error{ErrorCode::Unavailable, "locked"};
      return LockOutcome::Locked;
    };
    const std::vector<EventItem> items{item("1"), item("2"), item("3"), item("4"), item("5")};
    const auto verdicts = locker_.work(items);
    const Handled expected[] = {Handled::Done, Handled::Done, Handled::Repeated, Handled::Retried,
                                Handled::Done};
    CPPUNIT_ASSERT_EQUAL(items.size(), verdicts.size());
    for (std::size_t i = 0; i < verdicts.size(); ++i) CPPUNIT_ASSERT(verdicts[i].handled == expected[i]);
    CPPUNIT_ASSERT_EQUAL(std::string("2:order.created"), store_.locked()[1].event.str());
  }

  void failures_are_counted_by_reason() {
    // NO_STOCK after the gate said yes means that gate and books disagree: somebody must see it.
    store_.on_lock = [](const LockRequest& request) -> Result<LockOutcome> {
      return request.order_no == OrderNo("1") ? LockOutcome::NoStock : LockOutcome::UnknownOrder;
    };
    const std::vector<EventItem> items{item("1"), item("2"), item("3", 5)};
    const auto verdicts = locker_.work(items);
    CPPUNIT_ASSERT_EQUAL(1.0, failures("no_stock"));
    CPPUNIT_ASSERT_EQUAL(2.0, failures("unknown_order"));
    CPPUNIT_ASSERT(verdicts[1].handled == Handled::Retried && verdicts[2].handled == Handled::Dead);
  }

  void an_outage_retries_and_broken_books_park() {
    // A database that is away comes back; a broken invariant does not mend itself.
    store_.on_lock = [](const LockRequest& request) -> Result<LockOutcome> {
      if (request.order_no == OrderNo("1")) return Error{ErrorCode::UnknownOutcome, "lost on commit"};
      return Error{ErrorCode::Corrupt, "locked is negative"};
    };
    const std::vector<EventItem> items{item("1", 4), item("2")};
    const auto verdicts = locker_.work(items);
    CPPUNIT_ASSERT(verdicts[0].handled == Handled::Retried);
    CPPUNIT_ASSERT(verdicts[0].after >= Milliseconds(800) && verdicts[0].after <= Milliseconds(1'600));
    CPPUNIT_ASSERT(verdicts[1].handled == Handled::Dead);
    CPPUNIT_ASSERT_EQUAL(std::string("corrupt: locked is negative"), verdicts[1].reason);
    CPPUNIT_ASSERT_EQUAL(1.0, failures("corrupt"));
  }

  void a_failure_after_the_commit_redelivers_everything() {
    // The window between commit and settlement: redelivered, and the store answers AlreadyHandled.
    setenv("PENSTOCK_FAILPOINTS", "consumer.after_lock=fail@1", 1);
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
    const std::vector<EventItem> items{item("1"), item("2")};
    for (const auto& verdict : locker_.work(items)) CPPUNIT_ASSERT(verdict.handled == Handled::Retried);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), store_.locked().size());
    for (const auto& verdict : locker_.work(items)) CPPUNIT_ASSERT(verdict.handled == Handled::Done);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(StockLockerTest);

}  // namespace
