#include "penstock/orders/events.hpp"
#include "penstock/testkit/fake_order_store.hpp"
#include "penstock/testkit/fake_stock_gate.hpp"
#include "penstock/testkit/fake_transport.hpp"
#include "penstock/testkit/plugin_under_test.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace {

using namespace penstock;
using namespace penstock::orders;
using testkit::wait_until;

class PluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginTest);
  CPPUNIT_TEST(queues_and_sweep_reach_their_own_work);
  CPPUNIT_TEST(stop_before_start_is_harmless);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeOrderStore store_;
  testkit::FakeStockGate gate_;
  testkit::FakeTransport transport_;
  testkit::PluginUnderTest plugin_;

  static Delivery delivery(std::string_view type) {
    const OrderNo order_no("event");
    const OrderEvent event{event_id(type, order_no), std::string(type), order_no, {{Sku("p1"), 1}}};
    return {event.id, event.type, encode(event), "", 1, {}};
  }

 public:
  void queues_and_sweep_reach_their_own_work() {
    // Two queues and a loop in one plugin must not be mixed up, and all must fall silent at stop.
    std::atomic<bool> overdue{true};
    store_.on_overdue = [&](std::size_t) {
      return overdue.exchange(false) ? std::vector<OrderNo>{OrderNo("swept")} : std::vector<OrderNo>{};
    };
    plugin_.context().services().provide<OrderStore>(store_);
    plugin_.context().services().provide<StockGate>(gate_);
    plugin_.context().services().provide<Transport>(transport_);
    CPPUNIT_ASSERT(plugin_.configure().ok());
    CPPUNIT_ASSERT(plugin_.start().ok());
    CPPUNIT_ASSERT(wait_until([&] {
      return transport_.subscribed(pay_due_queue()) && transport_.subscribed(release_queue()) &&
             store_.expired() == std::vector<OrderNo>{OrderNo("swept")};
    }));
    const auto due = delivery(kOrderPayDue);
    CPPUNIT_ASSERT(
        std::holds_alternative<Done>(transport_.deliver(pay_due_queue(), std::span(&due, 1)).at(0)));
    CPPUNIT_ASSERT(store_.expired().back() == OrderNo("event"));
    const auto released = delivery(kOrderReleased);
    CPPUNIT_ASSERT(
        std::holds_alternative<Done>(transport_.deliver(release_queue(), std::span(&released, 1)).at(0)));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate_.released().size());
    CPPUNIT_ASSERT(plugin_.stop().ok());
    CPPUNIT_ASSERT(!transport_.subscribed(pay_due_queue()) && !transport_.subscribed(release_queue()));
  }

  void stop_before_start_is_harmless() {
    // The host stops what it configured, also when another plugin refused to start.
    CPPUNIT_ASSERT(plugin_.configure().ok());
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginTest);

}  // namespace
