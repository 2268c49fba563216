// What is the memory gate's own; what it shares with every gate is in the contract.
#include "stock_memory/memory_gate.hpp"
#include "penstock/orders/measured_gate.hpp"
#include "penstock/testkit/fake_context.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace penstock::stock_memory {

using namespace orders;
using namespace std::chrono_literals;

class MemoryGateTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(MemoryGateTest);
  CPPUNIT_TEST(window_opens_at_its_first_instant_and_closes_at_its_last);
  CPPUNIT_TEST(image_that_contradicts_itself_leaves_the_gate_closed);
  CPPUNIT_TEST(latest_answers_of_an_image_are_remembered);
  CPPUNIT_TEST(stepped_clock_keeps_holds_in_order);
  CPPUNIT_TEST(readiness_follows_the_gate);
  CPPUNIT_TEST(calls_and_outcomes_are_measured);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeContext context_;
  std::unique_ptr<HealthProbe> probe_ = context_.health().probe("stock_gate");
  MemoryGate gate_{{2}, context_.clock(), *probe_};

  static ReserveRequest want(const std::string& name, std::int64_t quantity = 1) {
    return {OrderNo("O-" + name), UserId("U"), RequestId("R-" + name), BodyHash("b"), {{Sku("A"), quantity}}};
  }
  static Result<ReserveAnswer> reserve(StockGate& gate, const ReserveRequest& request) {
    return gate.reserve({&request, 1})[0];
  }
  Result<void> rebuild(const GateImage& image) { return gate_.finish_rebuild(*gate_.begin_rebuild(), image); }

  void expect_refused(const GateImage& image, const std::string& named) {
    const auto opened = rebuild(image);
    CPPUNIT_ASSERT_MESSAGE(named, !opened && opened.error().code == ErrorCode::InvalidArgument);
    CPPUNIT_ASSERT_MESSAGE(opened.error().message, opened.error().message.find(named) != std::string::npos);
    CPPUNIT_ASSERT(gate_.snapshot().error().code == ErrorCode::NotLoaded);
  }

  void window_opens_at_its_first_instant_and_closes_at_its_last() {
    // Buyers press at the very second the sale opens; the end is exclusive.
    const auto now = context_.clock().now();
    CPPUNIT_ASSERT(rebuild({{{Sku("A"), 9, {now + 1s, now + 3s, {}, {}}}}, {}, {}, {}}).ok());
    const auto outcome_after = [&](Milliseconds step, const char* name) {
      context_.clock().advance(step);
      return reserve(gate_, want(name))->outcome;
    };
    CPPUNIT_ASSERT(outcome_after(999ms, "1") == ReserveOutcome::NotStarted);
    CPPUNIT_ASSERT(outcome_after(1ms, "2") == ReserveOutcome::Reserved);
    CPPUNIT_ASSERT(outcome_after(1999ms, "3") == ReserveOutcome::Reserved);
    CPPUNIT_ASSERT(outcome_after(1ms, "4") == ReserveOutcome::Ended);
    CPPUNIT_ASSERT_EQUAL(std::int64_t(7), (*gate_.snapshot())[0].free);
  }

  void image_that_contradicts_itself_leaves_the_gate_closed() {
    // Figures that cannot be true must not be sold from; the message names the row to look at.
    const GateSku a{Sku("A"), 5, {}};
    const GateHold hold{OrderNo("O-1"), UserId("U"), RequestId("R"), BodyHash("b"), {{Sku("A"), 1}}, {}, 0};
    auto other_number = hold;
    other_number.order_no = OrderNo("O-2");
    expect_refused({{{Sku("A"), -1, {}}}, {}, {}, {}}, "'A'");
    expect_refused({{a, a}, {}, {}, {}}, "SKU A is listed twice");
    expect_refused({{}, {hold}, {}, {}}, "O-1");
    expect_refused({{a}, {hold, hold}, {}, {}}, "O-1");
    expect_refused({{a}, {hold, other_number}, {}, {}}, "O-2");
    expect_refused({{a}, {}, {{UserId("U"), Sku("B"), 1}}, {}}, "SKU B");
    expect_refused({{a}, {hold}, {}, {{UserId("U"), RequestId("R"), BodyHash("b"), OrderNo("O-3")}}}, "O-3");
  }

  void latest_answers_of_an_image_are_remembered() {
    // Of more ended orders than are remembered, the latest are the ones whose clients still retry.
    GateImage image{{{Sku("A"), 5, {}}}, {}, {}, {}};
    for (const auto* name : {"3", "2", "1"}) {
      const auto request = want(name);
      image.answered.push_back({request.user, request.request, request.body, request.order_no});
    }
    CPPUNIT_ASSERT(rebuild(image).ok());
    CPPUNIT_ASSERT(reserve(gate_, want("3"))->outcome == ReserveOutcome::Replayed);
    CPPUNIT_ASSERT(reserve(gate_, want("2"))->outcome == ReserveOutcome::Replayed);
    CPPUNIT_ASSERT(reserve(gate_, want("1"))->outcome == ReserveOutcome::Reserved);
  }

  void stepped_clock_keeps_holds_in_order() {
    // A clock set back must neither hide an old hold from the reconciler nor misorder the list.
    CPPUNIT_ASSERT(rebuild({{{Sku("A"), 5, {}}}, {}, {}, {}}).ok());
    CPPUNIT_ASSERT(reserve(gate_, want("late")).ok());
    context_.clock().advance(-1h);
    CPPUNIT_ASSERT(reserve(gate_, want("early")).ok());
    const auto holds = gate_.holds({{}, context_.clock().now() + 2h}, 10);
    CPPUNIT_ASSERT_EQUAL(std::string("O-early"), (*holds)[0].order_no.str());
    CPPUNIT_ASSERT_EQUAL(std::string("O-late"), (*holds)[1].order_no.str());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate_.holds({{}, context_.clock().now() + 1ms}, 10)->size());
  }

  void readiness_follows_the_gate() {
    // A load balancer must not send buyers to a process whose gate is closed.
    CPPUNIT_ASSERT(rebuild({}).ok());
    CPPUNIT_ASSERT_EQUAL(std::string(), context_.health().state("stock_gate"));
    CPPUNIT_ASSERT(gate_.begin_rebuild().ok());
    CPPUNIT_ASSERT(!context_.health().state("stock_gate").empty());
  }

  void calls_and_outcomes_are_measured() {
    // The alert on refusals and the gate's latency stand on these names.
    MeasuredGate measured(gate_, context_.metrics(), context_.clock());
    CPPUNIT_ASSERT(
        measured.finish_rebuild(*measured.begin_rebuild(), {{{Sku("A"), 2, {}}}, {}, {}, {}}).ok());
    const std::vector<ReserveRequest> batch{want("1"), want("2"), want("3"), want("1"), want("5", -1)};
    CPPUNIT_ASSERT_EQUAL(batch.size(), measured.reserve(batch).size());
    const auto& metrics = context_.metrics();
    CPPUNIT_ASSERT_EQUAL(2.0, metrics.value("penstock_reservations_total{outcome=\"reserved\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics.value("penstock_reservations_total{outcome=\"out_of_stock\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics.value("penstock_reservations_total{outcome=\"replayed\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics.value("penstock_reservations_total{outcome=\"error\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics.value("penstock_stock_gate_duration_seconds{operation=\"reserve\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics.value("penstock_stock_gate_duration_seconds{operation=\"rebuild\"}"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(MemoryGateTest);

}  // namespace penstock::stock_memory
