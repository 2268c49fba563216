#include "reconciler/hold_settler.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_order_store.hpp"
#include "penstock/testkit/fake_stock_gate.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace {

using namespace std::chrono_literals;
using namespace penstock;
using namespace penstock::orders;
using reconciler::HoldSettler;
using reconciler::HoldSettlerSettings;

class HoldSettlerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HoldSettlerTest);
  CPPUNIT_TEST(an_orphan_is_tombstoned_and_then_given_back);
  CPPUNIT_TEST(a_hold_within_its_grace_is_left_alone);
  CPPUNIT_TEST(an_order_that_appears_in_time_keeps_its_hold);
  CPPUNIT_TEST(a_hold_of_a_living_order_is_left_alone);
  CPPUNIT_TEST(an_ended_order_gets_its_grace_before_its_event_counts_as_lost);
  CPPUNIT_TEST(a_sold_order_is_confirmed);
  CPPUNIT_TEST(many_holds_are_read_in_pages);
  CPPUNIT_TEST(between_reviews_only_new_holds_are_read);
  CPPUNIT_TEST(an_unknown_abandon_keeps_the_hold_and_its_place);
  CPPUNIT_TEST(a_failure_after_the_tombstone_is_finished_by_the_next_step);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeContext context_;
  testkit::FakeOrderStore store_;
  testkit::FakeStockGate gate_;
  HoldSettlerSettings settings_;
  std::vector<GateHold> holds_;  // oldest first
  std::map<OrderNo, Order> orders_;
  std::vector<HoldSpan> asked_;

  HoldSettler settler() { return {settings_, context_, store_, gate_}; }

  void hold(const std::string& number, Milliseconds age) {
    holds_.push_back({OrderNo(number),
                      UserId("U"),
                      RequestId("R" + number),
                      BodyHash("b"),
                      {{Sku("A"), 2}},
                      context_.clock().now() - age,
                      1});
  }
  void order(const std::string& number, OrderStatus status, Milliseconds since) {
    Order entry;
    entry.order_no = OrderNo(number);
    entry.status = status;
    entry.updated_at = context_.clock().now() - since;
    orders_[entry.order_no] = entry;
  }
  double repaired(const std::string& kind) {
    return context_.metrics().value("penstock_reconcile_repairs_total{kind=\"" + kind + "\"}");
  }

 public:
  void setUp() override {
    gate_.on_holds = [this](HoldSpan span, std::size_t limit) {
      asked_.push_back(span);
      std::vector<GateHold> page;
      for (const auto& one : holds_) {
        if (one.held_at >= span.from && one.held_at < span.before && page.size() < limit) page.push_back(one);
      }
      return page;
    };
    gate_.on_release = [this](const ReleaseRequest& request) {
      const auto gone =
          std::erase_if(holds_, [&](const GateHold& one) { return one.order_no == request.order_no; });
      return gone > 0 ? ReleaseOutcome::Released : ReleaseOutcome::NothingHeld;
    };
    store_.on_find = [this](std::span<const OrderNo> numbers) {
      std::vector<std::optional<Order>> found;
      for (const auto& number : numbers) {
        const auto entry = orders_.find(number);
        found.push_back(entry == orders_.end() ? std::nullopt : std::optional(entry->second));
      }
      return found;
    };
    store_.on_now = [this] { return context_.clock().now(); };
  }

  void tearDown() override {
    unsetenv("PENSTOCK_FAILPOINTS");
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
  }

  void an_orphan_is_tombstoned_and_then_given_back() {
    // The tombstone comes first: an accept that wakes up late must not sell units that were given back.
    hold("1", 31s);
    bool tombstoned_first = false;
    store_.on_abandon = [&](const OrderNo&) {
      tombstoned_first = gate_.released().empty();
      return AbandonOutcome::Abandoned;
    };
    auto under_test = settler();
    CPPUNIT_ASSERT(*under_test.step() == false);
    CPPUNIT_ASSERT(tombstoned_first);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate_.released().size());
    CPPUNIT_ASSERT(gate_.released()[0].kind == ReleaseKind::Undone);
    CPPUNIT_ASSERT(gate_.released()[0].lines == std::vector<Line>({{Sku("A"), 2}}));
    CPPUNIT_ASSERT_EQUAL(1.0, repaired("orphan_hold"));
    CPPUNIT_ASSERT(context_.logger().contains("orphan_hold_released order=1"));
  }

  void a_hold_within_its_grace_is_left_alone() {
    // Its accept may still be running.
    hold("1", 29s);
    auto under_test = settler();
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT(store_.abandoned().empty() && gate_.released().empty());
    context_.clock().advance(2s);
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate_.released().size());
  }

  void an_order_that_appears_in_time_keeps_its_hold() {
    // Not found a moment ago is no evidence: the store's answer to abandon is.
    hold("1", 31s);
    store_.on_abandon = [](const OrderNo&) { return AbandonOutcome::Exists; };
    auto under_test = settler();
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT(gate_.released().empty());
  }

  void a_hold_of_a_living_order_is_left_alone() {
    // Orders may wait for their payment far longer than the grace.
    hold("1", 10min);
    order("1", OrderStatus::WaitingPay, 10min);
    auto under_test = settler();
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT(store_.abandoned().empty() && gate_.released().empty() && gate_.confirmed().empty());
  }

  void an_ended_order_gets_its_grace_before_its_event_counts_as_lost() {
    // The event is normally on its way; settling early is harmless, but would report a fault that is none.
    hold("1", 10min);
    order("1", OrderStatus::Cancelled, 29s);
    auto under_test = settler();
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT(gate_.released().empty());
    context_.clock().advance(settings_.review);
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT(gate_.released().at(0).kind == ReleaseKind::Ended);
    CPPUNIT_ASSERT_EQUAL(1.0, repaired("unsold_hold"));
  }

  void a_sold_order_is_confirmed() {
    // A sold unit that stays held is counted against its buyer twice.
    hold("1", 10min);
    order("1", OrderStatus::Paid, 31s);
    auto under_test = settler();
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate_.confirmed().size());
    CPPUNIT_ASSERT(gate_.released().empty());
    CPPUNIT_ASSERT_EQUAL(1.0, repaired("sold_hold"));
  }

  void many_holds_are_read_in_pages() {
    // Old holds of living orders must not hide the orphans behind them, nor fill the memory.
    settings_.max_batch = 10;
    for (int i = 0; i < 95; ++i) {
      hold(std::to_string(i), 200s - Milliseconds(i / 5));  // five per instant
      order(std::to_string(i), OrderStatus::WaitingPay, 100s);
    }
    hold("orphan", 60s);
    auto under_test = settler();
    int steps = 1;
    while (*under_test.step()) CPPUNIT_ASSERT(++steps < 50);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate_.released().size());
    CPPUNIT_ASSERT_EQUAL(std::string("orphan"), gate_.released()[0].order_no.str());
  }

  void between_reviews_only_new_holds_are_read() {
    // Asking the database about every open order every few seconds would cost more than selling.
    hold("1", 31s);
    order("1", OrderStatus::WaitingPay, 31s);
    auto under_test = settler();
    CPPUNIT_ASSERT(under_test.step().ok());
    context_.clock().advance(1s);
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), store_.found().size());
    CPPUNIT_ASSERT(asked_[1].from == asked_[0].before);
    context_.clock().advance(settings_.review);
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), store_.found().size());
  }

  void an_unknown_abandon_keeps_the_hold_and_its_place() {
    // Without the store's word nothing is given back, and the hold is not forgotten either.
    hold("1", 31s);
    store_.on_abandon = [](const OrderNo&) -> Result<AbandonOutcome> {
      return Error{ErrorCode::UnknownOutcome, "lost"};
    };
    auto under_test = settler();
    CPPUNIT_ASSERT(!under_test.step().ok());
    CPPUNIT_ASSERT(gate_.released().empty());
    store_.on_abandon = nullptr;
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate_.released().size());
  }

  void a_failure_after_the_tombstone_is_finished_by_the_next_step() {
    // The window between tombstone and release: the hold is still evidence enough.
    hold("1", 31s);
    setenv("PENSTOCK_FAILPOINTS", "reconciler.after_abandon=fail@1", 1);
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
    auto under_test = settler();
    CPPUNIT_ASSERT(!under_test.step().ok());
    CPPUNIT_ASSERT(gate_.released().empty());
    CPPUNIT_ASSERT(under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate_.released().size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HoldSettlerTest);

}  // namespace
