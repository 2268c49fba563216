#include "penstock/testkit/fake_order_store.hpp"
#include "penstock/testkit/fake_stock_books.hpp"
#include "penstock/testkit/fake_stock_gate.hpp"
#include "penstock/testkit/plugin_under_test.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace {

using namespace penstock;
using namespace penstock::orders;
using testkit::wait_until;

// The whole plugin, over a gate that opens and closes.
class ReconcilerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReconcilerTest);
  CPPUNIT_TEST(the_gate_opens_as_soon_as_the_books_can_be_read);
  CPPUNIT_TEST(a_gate_that_somebody_closed_is_opened_again);
  CPPUNIT_TEST(new_skus_go_on_sale_without_a_restart);
  CPPUNIT_TEST(the_gate_page_shows_every_sku_and_503_while_closed);
  CPPUNIT_TEST(stop_before_start_is_harmless);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeOrderStore store_;
  testkit::FakeStockBooks books_;
  testkit::FakeStockGate gate_;
  testkit::PluginUnderTest plugin_;
  std::atomic<bool> open_{false};
  std::atomic<bool> books_away_{false};

  void start() {
    CPPUNIT_ASSERT(plugin_.configure().ok());
    CPPUNIT_ASSERT(plugin_.start().ok());
  }
  std::string health() { return plugin_.context().health().state("reconciler"); }

 public:
  void setUp() override {
    gate_.on_snapshot = [this]() -> Result<std::vector<SkuSnapshot>> {
      if (!open_) return Error{ErrorCode::NotLoaded, "the gate is closed"};
      return std::vector<SkuSnapshot>{};
    };
    gate_.on_finish_rebuild = [this](Epoch, const GateImage&) -> Result<void> {
      open_ = true;
      return {};
    };
    books_.on_gate_image = [this](std::size_t) -> Result<GateImage> {
      if (books_away_) return Error{ErrorCode::Unavailable, "no database"};
      return GateImage{};
    };
    plugin_.context().services().provide<OrderStore>(store_);
    plugin_.context().services().provide<StockBooks>(books_);
    plugin_.context().services().provide<StockGate>(gate_);
    plugin_.context().config().set("interval_ms", "20").set("settle_ms", "20");
  }

  void the_gate_opens_as_soon_as_the_books_can_be_read() {
    // A database that is late is waited for; until then nobody hears "sold out".
    books_away_ = true;
    start();
    CPPUNIT_ASSERT(
        wait_until([&] { return health() == "the gate is closed, its rebuild failed: no database"; }));
    CPPUNIT_ASSERT(!open_);
    books_away_ = false;
    CPPUNIT_ASSERT(wait_until([&] { return open_ && health().empty(); }));
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }

  void a_gate_that_somebody_closed_is_opened_again() {
    // A flushed or restarted gate must come back from the books without a person.
    start();
    CPPUNIT_ASSERT(wait_until([&] { return health().empty(); }));
    open_ = false;
    CPPUNIT_ASSERT(wait_until([&] { return gate_.images().size() == 2; }));
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }

  void new_skus_go_on_sale_without_a_restart() {
    // Stock is loaded while the shop is open.
    books_.on_gate_skus = [] { return std::vector<GateSku>{{Sku("A"), 5, {}}}; };
    start();
    CPPUNIT_ASSERT(wait_until([&] { return !gate_.loaded().empty(); }));
    CPPUNIT_ASSERT_EQUAL(std::int64_t(5), gate_.loaded()[0].free);
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }

  void the_gate_page_shows_every_sku_and_503_while_closed() {
    // The audit compares these figures with the books; a closed gate has none, which is not zero.
    gate_.on_snapshot = [this]() -> Result<std::vector<SkuSnapshot>> {
      if (!open_) return Error{ErrorCode::NotLoaded, "the gate is closed"};
      return std::vector<SkuSnapshot>{{Sku("p1"), 12, 88, {}}, {Sku("9007199254740993"), 0, 1, {}}};
    };
    books_away_ = true;
    start();
    testkit::RecordingRoutes::Call call;
    call.path = "/admin/gate";
    CPPUNIT_ASSERT_EQUAL(503, plugin_.context().http().call(call).response.status);
    books_away_ = false;
    CPPUNIT_ASSERT(wait_until([this] { return open_.load(); }));
    const auto answer = plugin_.context().http().call(call).response;
    CPPUNIT_ASSERT_EQUAL(200, answer.status);
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"skus":[{"productId":"p1","free":12,"held":88},)"
                                     R"({"productId":"9007199254740993","free":0,"held":1}]})"),
                         answer.body);
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }

  void stop_before_start_is_harmless() {
    // The host stops what it configured, also when another plugin refused to start.
    CPPUNIT_ASSERT(plugin_.configure().ok());
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReconcilerTest);

}  // namespace
