#include "penstock/orders/event_handler.hpp"

#include "penstock/testkit/fake_context.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace {

using namespace penstock;
using namespace penstock::orders;

Delivery delivery(std::string_view type, const std::string& number, std::uint32_t attempt = 1) {
  const OrderNo order_no(number);
  OrderEvent event{event_id(type, order_no), std::string(type), order_no, {{Sku("p1"), 2}}};
  return {event.id, std::string(type), encode(event), "", attempt, {}};
}

class EventHandlerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(EventHandlerTest);
  CPPUNIT_TEST(bad_bodies_are_parked_and_their_neighbours_are_worked_on);
  CPPUNIT_TEST(an_event_of_another_type_is_parked);
  CPPUNIT_TEST(a_body_that_names_another_event_is_parked);
  CPPUNIT_TEST(work_that_answers_another_number_throws);
  CPPUNIT_TEST(retryable_errors_are_tried_again_and_hopeless_ones_parked);
  CPPUNIT_TEST(an_unknown_order_is_parked_after_a_few_deliveries);
  CPPUNIT_TEST(waits_double_up_to_their_bound);
  CPPUNIT_TEST_SUITE_END();

  testkit::RecordingMetrics metrics_;
  testkit::SeededRandom random_{7};
  std::vector<EventItem> worked_;

  EventHandler handler() {
    return {{.consumer = "lock", .event_type = std::string(kOrderCreated)},
            metrics_,
            [this](std::span<const EventItem> items) {
              worked_.assign(items.begin(), items.end());
              return std::vector<Verdict>(items.size(), Verdict{Handled::Done, {}, {}});
            }};
  }

  static std::string dead_reason(const Settlement& settlement) {
    const auto* dead = std::get_if<Dead>(&settlement);
    return dead ? dead->reason : "not dead";
  }

 public:
  void bad_bodies_are_parked_and_their_neighbours_are_worked_on() {
    // One poison message must neither stop the queue nor take good messages with it.
    auto broken = delivery(kOrderCreated, "2");
    broken.body =
        R"({"version":1,"eventId":"x","type":"order.created","orderNo":"2","lines":[{"productId":"p1","quantity":"3"}]})";
    const std::vector<Delivery> deliveries{delivery(kOrderCreated, "1"), broken,
                                           delivery(kOrderCreated, "3")};
    auto events = handler();
    const auto settled = events.handle(deliveries);
    CPPUNIT_ASSERT(std::holds_alternative<Done>(settled[0]) && std::holds_alternative<Done>(settled[2]));
    CPPUNIT_ASSERT_EQUAL(
        std::string("lines[0].quantity: found a string, allowed an integer from 1 to 1000000"),
        dead_reason(settled[1]));
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), worked_.size());
    CPPUNIT_ASSERT_EQUAL(std::string("3"), worked_[1].event.order_no.str());
    CPPUNIT_ASSERT_EQUAL(1.0, metrics_.value(R"(penstock_consumed_total{consumer="lock",outcome="dead"})"));
    CPPUNIT_ASSERT_EQUAL(2.0, metrics_.value(R"(penstock_consumed_total{consumer="lock",outcome="done"})"));
    CPPUNIT_ASSERT_EQUAL(3.0, metrics_.sum(R"(penstock_batch_size{stage="lock"})"));
  }

  void an_event_of_another_type_is_parked() {
    // A wrong binding must not turn one kind of event into the effect of another.
    auto events = handler();
    const std::vector<Delivery> deliveries{delivery(kOrderReleased, "1")};
    CPPUNIT_ASSERT_EQUAL(std::string("type: found order.released, allowed order.created in this queue"),
                         dead_reason(events.handle(deliveries)[0]));
    CPPUNIT_ASSERT(worked_.empty());
  }

  void a_body_that_names_another_event_is_parked() {
    // Deduplication goes by event id, so an id that may be either of two is no evidence.
    auto forged = delivery(kOrderCreated, "1");
    forged.id = EventId("other");
    auto events = handler();
    CPPUNIT_ASSERT_EQUAL(
        std::string("eventId: found 1:order.created, allowed only the message's own id other"),
        dead_reason(events.handle(std::span(&forged, 1))[0]));
  }

  void work_that_answers_another_number_throws() {
    // A defect must not settle a delivery that nobody worked on.
    EventHandler events({.consumer = "lock", .event_type = std::string(kOrderCreated)}, metrics_,
                        [](std::span<const EventItem>) { return std::vector<Verdict>{}; });
    const std::vector<Delivery> deliveries{delivery(kOrderCreated, "1")};
    CPPUNIT_ASSERT_THROW(events.handle(deliveries), std::logic_error);
  }

  void retryable_errors_are_tried_again_and_hopeless_ones_parked() {
    // An outage must never park an order; broken books must not be hammered for ever.
    const RetryPolicy policy({}, random_);
    const EventItem item{{EventId("e"), "t", OrderNo("1"), {}}, 1};
    const auto handled = [&](ErrorCode code) { return policy.failed(item, {code, "why"}).handled; };
    for (const auto code : {ErrorCode::Unavailable, ErrorCode::UnknownOutcome, ErrorCode::NotLoaded,
                            ErrorCode::Timeout, ErrorCode::Overloaded, ErrorCode::Closed}) {
      CPPUNIT_ASSERT(handled(code) == Handled::Retried);
    }
    CPPUNIT_ASSERT(handled(ErrorCode::Corrupt) == Handled::Dead);
    CPPUNIT_ASSERT_EQUAL(std::string("corrupt: why"),
                         policy.failed(item, {ErrorCode::Corrupt, "why"}).reason);
  }

  void an_unknown_order_is_parked_after_a_few_deliveries() {
    // A lagging replica heals by itself; an event of another installation never does.
    const RetryPolicy policy({.back_off = {}, .unknown_order_attempts = 3}, random_);
    EventItem item{{EventId("e"), "t", OrderNo("1"), {}}, 2};
    CPPUNIT_ASSERT(policy.unknown_order(item).handled == Handled::Retried);
    item.attempt = 3;
    const auto verdict = policy.unknown_order(item);
    CPPUNIT_ASSERT(verdict.handled == Handled::Dead);
    CPPUNIT_ASSERT(verdict.reason.find("order 1 of event e is not in the order store") != std::string::npos);
  }

  void waits_double_up_to_their_bound() {
    // Doubling keeps a long outage cheap, the bound keeps the recovery quick.
    const BackOff back_off{Milliseconds(100), Milliseconds(1'000)};
    const auto within = [&](std::uint32_t retry, int low, int high) {
      for (int i = 0; i < 200; ++i) {
        const auto wait = wait_before(retry, back_off, random_).count();
        CPPUNIT_ASSERT(wait >= low && wait <= high);
      }
    };
    within(1, 50, 100);
    within(2, 100, 200);
    within(4, 400, 800);
    within(5, 500, 1'000);
    within(4'000'000'000, 500, 1'000);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(EventHandlerTest);

}  // namespace
