#include "penstock/orders/stock_gate.hpp"
#include "penstock/testkit/plugin_under_test.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace penstock::stock_memory {

class PluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginTest);
  CPPUNIT_TEST(gate_is_provided_closed_and_measured);
  CPPUNIT_TEST_SUITE_END();

  void gate_is_provided_closed_and_measured() {
    // Until the reconciler has rebuilt it, the gate must say so to buyers, probes and metrics alike.
    testkit::PluginUnderTest plugin;
    CPPUNIT_ASSERT(plugin.configure().ok());
    CPPUNIT_ASSERT(plugin.start().ok());
    auto& context = plugin.context();
    CPPUNIT_ASSERT(context.health().state("stock_gate").find("rebuild") != std::string::npos);

    auto& gate = context.services().require<orders::StockGate>();
    const orders::ReserveRequest request{orders::OrderNo("O-1"),
                                         orders::UserId("U"),
                                         orders::RequestId("R"),
                                         orders::BodyHash("b"),
                                         {{orders::Sku("A"), 1}}};
    CPPUNIT_ASSERT(gate.reserve({&request, 1})[0]->outcome == orders::ReserveOutcome::NotLoaded);
    CPPUNIT_ASSERT_EQUAL(1.0, context.metrics().value("penstock_reservations_total{outcome=\"not_loaded\"}"));

    CPPUNIT_ASSERT(
        gate.finish_rebuild(*gate.begin_rebuild(), {{{orders::Sku("A"), 1, {}}}, {}, {}, {}}).ok());
    CPPUNIT_ASSERT_EQUAL(std::string(), context.health().state("stock_gate"));
    CPPUNIT_ASSERT(gate.reserve({&request, 1})[0]->outcome == orders::ReserveOutcome::Reserved);
    CPPUNIT_ASSERT(plugin.stop().ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginTest);

}  // namespace penstock::stock_memory
