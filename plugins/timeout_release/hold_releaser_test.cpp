#include "timeout_release/hold_releaser.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_stock_gate.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <cstdlib>

namespace {

using namespace penstock;
using namespace penstock::orders;
using timeout_release::HoldReleaser;

EventItem item(const std::string& number) {
  const OrderNo order_no(number);
  return {{event_id(kOrderReleased, order_no), std::string(kOrderReleased), order_no, {{Sku("p1"), 2}}}, 1};
}

class HoldReleaserTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HoldReleaserTest);
  CPPUNIT_TEST(each_outcome_settles_its_own_event);
  CPPUNIT_TEST(a_failure_before_the_release_leaves_the_gate_alone);
  CPPUNIT_TEST(a_failure_after_the_release_redelivers_everything);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeStockGate gate_;
  testkit::SeededRandom random_{3};
  HoldReleaser releaser_{RetryPolicy({}, random_), gate_};
  const std::vector<EventItem> items_{item("1"), item("2"), item("3")};

  static void arm(const char* points) {
    setenv("PENSTOCK_FAILPOINTS", points, 1);
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
  }

 public:
  void tearDown() override {
    unsetenv("PENSTOCK_FAILPOINTS");
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
  }

  void each_outcome_settles_its_own_event() {
    // Ten releases of one order are one; a gate that is being rebuilt gets its release afterwards.
    gate_.on_release = [](const ReleaseRequest& request) -> Result<ReleaseOutcome> {
      if (request.order_no == OrderNo("2")) return ReleaseOutcome::NothingHeld;
      if (request.order_no == OrderNo("3")) return Error{ErrorCode::NotLoaded, "the gate is being rebuilt"};
      return ReleaseOutcome::Released;
    };
    const auto verdicts = releaser_.work(items_);
    CPPUNIT_ASSERT(verdicts[0].handled == Handled::Done);
    CPPUNIT_ASSERT(verdicts[1].handled == Handled::Repeated);
    CPPUNIT_ASSERT(verdicts[2].handled == Handled::Retried);
    CPPUNIT_ASSERT(gate_.released()[0].kind == ReleaseKind::Ended);
    CPPUNIT_ASSERT(gate_.released()[0].lines == std::vector<Line>({{Sku("p1"), 2}}));
  }

  void a_failure_before_the_release_leaves_the_gate_alone() {
    // Committed in the database, unknown to the gate: only the redelivery brings the units back.
    arm("gate.before_release=fail@1");
    for (const auto& verdict : releaser_.work(items_)) CPPUNIT_ASSERT(verdict.handled == Handled::Retried);
    CPPUNIT_ASSERT(gate_.released().empty());
  }

  void a_failure_after_the_release_redelivers_everything() {
    // Released, not settled: the second release must find nothing held and change nothing.
    arm("gate.after_release=fail@1");
    for (const auto& verdict : releaser_.work(items_)) CPPUNIT_ASSERT(verdict.handled == Handled::Retried);
    CPPUNIT_ASSERT_EQUAL(items_.size(), gate_.released().size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HoldReleaserTest);

}  // namespace
