#include "timeout_release/expirer.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_order_store.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <cmath>
#include <cstdlib>

namespace {

using namespace penstock;
using namespace penstock::orders;
using timeout_release::Expirer;
using timeout_release::ExpirerSettings;

EventItem item(const std::string& number, std::uint32_t attempt = 1) {
  const OrderNo order_no(number);
  return {{event_id(kOrderPayDue, order_no), std::string(kOrderPayDue), order_no, {}}, attempt};
}

class ExpirerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ExpirerTest);
  CPPUNIT_TEST(each_outcome_settles_its_own_event);
  CPPUNIT_TEST(an_early_event_comes_back_when_the_database_says);
  CPPUNIT_TEST(an_event_that_is_always_early_is_left_to_the_sweep);
  CPPUNIT_TEST(the_lag_of_each_release_is_measured);
  CPPUNIT_TEST(a_failure_after_the_cancellation_redelivers_everything);
  CPPUNIT_TEST(the_sweep_ends_what_no_event_ended);
  CPPUNIT_TEST(the_sweep_takes_bounded_batches_without_a_pause_between);
  CPPUNIT_TEST(a_sweep_that_ends_nothing_does_not_spin);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeOrderStore store_;
  testkit::RecordingMetrics metrics_;
  testkit::SeededRandom random_{3};
  ExpirerSettings settings_;

  Expirer expirer() { return {settings_, store_, metrics_, random_}; }
  static std::vector<OrderNo> numbers(std::size_t count) { return std::vector<OrderNo>(count, OrderNo("1")); }

 public:
  void tearDown() override {
    unsetenv("PENSTOCK_FAILPOINTS");
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
  }

  void each_outcome_settles_its_own_event() {
    // A paid order's deadline passes too: that is no error, and no reason to come back.
    store_.on_expire = [](const OrderNo& order) -> Result<ExpireAnswer> {
      if (order == OrderNo("2")) return ExpireAnswer{ExpireOutcome::AlreadyEnded, {}};
      if (order == OrderNo("3")) return ExpireAnswer{ExpireOutcome::NotWaiting, {}};
      if (order == OrderNo("4")) return ExpireAnswer{ExpireOutcome::UnknownOrder, {}};
      if (order == OrderNo("5")) return Error{ErrorCode::Unavailable, "locked"};
      return ExpireAnswer{ExpireOutcome::Expired, Milliseconds(0)};
    };
    const std::vector<EventItem> items{item("1"), item("2"), item("3"), item("4"), item("5"), item("4", 5)};
    auto under_test = expirer();
    const auto verdicts = under_test.work(items);
    const Handled expected[] = {Handled::Done,    Handled::Repeated, Handled::Retried,
                                Handled::Retried, Handled::Retried,  Handled::Dead};
    for (std::size_t i = 0; i < items.size(); ++i) CPPUNIT_ASSERT(verdicts[i].handled == expected[i]);
  }

  void an_early_event_comes_back_when_the_database_says() {
    // The deadline is the database's instant; the transport's clock may be a minute off.
    store_.on_expire = [](const OrderNo&) {
      return ExpireAnswer{ExpireOutcome::NotDue, Milliseconds(90'000)};
    };
    const auto early = item("1");
    auto under_test = expirer();
    const auto verdict = under_test.work(std::span(&early, 1)).at(0);
    CPPUNIT_ASSERT(verdict.handled == Handled::Retried && verdict.after == Milliseconds(90'000));
    CPPUNIT_ASSERT_EQUAL(std::string("the pay deadline is 90000 ms away"), verdict.reason);
  }

  void an_event_that_is_always_early_is_left_to_the_sweep() {
    // Coming back counts deliveries: an early event must not end among the dead letters.
    store_.on_expire = [](const OrderNo&) { return ExpireAnswer{ExpireOutcome::NotDue, Milliseconds(10)}; };
    const auto early = item("1", settings_.early_attempts);
    auto under_test = expirer();
    CPPUNIT_ASSERT(under_test.work(std::span(&early, 1)).at(0).handled == Handled::Repeated);
  }

  void the_lag_of_each_release_is_measured() {
    // Units that come back late are units that nobody could buy.
    store_.on_expire = [](const OrderNo&) {
      return ExpireAnswer{ExpireOutcome::Expired, Milliseconds(1'500)};
    };
    store_.on_overdue = [](std::size_t) { return numbers(1); };
    const auto due = item("1");
    auto under_test = expirer();
    CPPUNIT_ASSERT(under_test.work(std::span(&due, 1)).at(0).handled == Handled::Done);
    CPPUNIT_ASSERT(under_test.sweep().ok());
    CPPUNIT_ASSERT_EQUAL(2.0, metrics_.value("penstock_release_lag_seconds"));
    CPPUNIT_ASSERT(std::abs(metrics_.sum("penstock_release_lag_seconds") - 3.0) < 1e-9);
  }

  void a_failure_after_the_cancellation_redelivers_everything() {
    // The window between commit and settlement: redelivered, and the store answers AlreadyEnded.
    setenv("PENSTOCK_FAILPOINTS", "timeout.after_expire=fail@1", 1);
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
    const auto due = item("1");
    auto under_test = expirer();
    CPPUNIT_ASSERT(under_test.work(std::span(&due, 1)).at(0).handled == Handled::Retried);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), store_.expired().size());
  }

  void the_sweep_ends_what_no_event_ended() {
    // An event can be lost with its broker; the deadline in the database cannot.
    store_.on_overdue = [](std::size_t limit) {
      CPPUNIT_ASSERT_EQUAL(std::size_t(500), limit);
      return numbers(3);
    };
    auto under_test = expirer();
    CPPUNIT_ASSERT(*under_test.sweep() == settings_.sweep);
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), store_.expired().size());
    CPPUNIT_ASSERT_EQUAL(3.0, metrics_.sum(R"(penstock_batch_size{stage="sweep"})"));
  }

  void the_sweep_takes_bounded_batches_without_a_pause_between() {
    // After an outage thousands are overdue at once: bounded transactions, no needless waiting.
    std::size_t left = 1'200;
    store_.on_overdue = [&](std::size_t limit) {
      const auto count = std::min(left, limit);
      left -= count;
      return numbers(count);
    };
    auto under_test = expirer();
    CPPUNIT_ASSERT(*under_test.sweep() == Milliseconds(0));
    CPPUNIT_ASSERT(*under_test.sweep() == Milliseconds(0));
    CPPUNIT_ASSERT(*under_test.sweep() == settings_.sweep);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1'200), store_.expired().size());
  }

  void a_sweep_that_ends_nothing_does_not_spin() {
    // A database that refuses every update must be left alone for a while; the worker backs off.
    store_.on_overdue = [](std::size_t limit) { return numbers(limit); };
    store_.on_expire = [](const OrderNo&) -> Result<ExpireAnswer> {
      return Error{ErrorCode::Unavailable, "read-only"};
    };
    auto under_test = expirer();
    const auto step = under_test.sweep();
    CPPUNIT_ASSERT(!step.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("read-only"), step.error().message);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ExpirerTest);

}  // namespace
