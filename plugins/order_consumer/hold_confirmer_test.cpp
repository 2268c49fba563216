#include "order_consumer/hold_confirmer.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_stock_gate.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <cstdlib>

namespace {

using namespace penstock;
using namespace penstock::orders;
using order_consumer::HoldConfirmer;

EventItem item(const std::string& number) {
  const OrderNo order_no(number);
  return {{event_id(kOrderPaid, order_no), std::string(kOrderPaid), order_no, {{Sku("p1"), 2}}}, 1};
}

class HoldConfirmerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HoldConfirmerTest);
  CPPUNIT_TEST(each_outcome_settles_its_own_event);
  CPPUNIT_TEST(a_failure_after_the_confirm_redelivers_everything);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeStockGate gate_;
  testkit::SeededRandom random_{3};
  HoldConfirmer confirmer_{RetryPolicy({}, random_), gate_};

 public:
  void tearDown() override {
    unsetenv("PENSTOCK_FAILPOINTS");
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
  }

  void each_outcome_settles_its_own_event() {
    // A gate that is being rebuilt must get the event later, not lose it.
    gate_.on_confirm = [](const ConfirmRequest& request) -> Result<ConfirmOutcome> {
      if (request.order_no == OrderNo("2")) return ConfirmOutcome::NothingHeld;
      if (request.order_no == OrderNo("3")) return Error{ErrorCode::NotLoaded, "the gate is being rebuilt"};
      return ConfirmOutcome::Confirmed;
    };
    const std::vector<EventItem> items{item("1"), item("2"), item("3")};
    const auto verdicts = confirmer_.work(items);
    CPPUNIT_ASSERT(verdicts[0].handled == Handled::Done);
    CPPUNIT_ASSERT(verdicts[1].handled == Handled::Repeated);
    CPPUNIT_ASSERT(verdicts[2].handled == Handled::Retried);
    CPPUNIT_ASSERT(gate_.confirmed()[0].lines == std::vector<Line>({{Sku("p1"), 2}}));
  }

  void a_failure_after_the_confirm_redelivers_everything() {
    // The window between the gate's confirm and the settlement: a second confirm changes nothing.
    setenv("PENSTOCK_FAILPOINTS", "gate.after_confirm=fail@1", 1);
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
    const std::vector<EventItem> items{item("1"), item("2")};
    for (const auto& verdict : confirmer_.work(items)) CPPUNIT_ASSERT(verdict.handled == Handled::Retried);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), gate_.confirmed().size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HoldConfirmerTest);

}  // namespace
