#include "penstock/testkit/fake_order_store.hpp"
#include "penstock/testkit/fake_stock_books.hpp"
#include "penstock/testkit/fake_stock_gate.hpp"
#include "penstock/testkit/plugin_under_test.hpp"
#include "penstock/testkit/temp_dir.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <fstream>
#include <memory>
#include <set>
#include <sstream>

namespace {

using namespace penstock;

std::string described_api() {
  std::ifstream file(OPENAPI_FILE);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

class PluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginTest);
  CPPUNIT_TEST(the_description_names_every_route_and_no_other);
  CPPUNIT_TEST(the_description_is_served);
  CPPUNIT_TEST(an_unknown_way_of_identifying_users_is_refused);
  CPPUNIT_TEST(a_missing_description_refuses_the_start);
  CPPUNIT_TEST(a_plugin_that_never_started_stops);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeStockGate gate_;
  testkit::FakeOrderStore store_;
  testkit::FakeStockBooks books_;
  testkit::TempDir share_;
  std::unique_ptr<testkit::PluginUnderTest> plugin_;

 public:
  void setUp() override {
    plugin_ = std::make_unique<testkit::PluginUnderTest>();
    auto& context = plugin_->context();
    context.services().provide<orders::StockGate>(gate_);
    context.services().provide<orders::OrderStore>(store_);
    context.services().provide<orders::StockBooks>(books_);
    context.config().set("auth.mode", "header");
    context.paths().share = share_.path();
    std::ofstream(share_.path() / "openapi.json") << described_api();
  }

  void tearDown() override { plugin_.reset(); }

  void the_description_names_every_route_and_no_other() {
    // A description that lags behind the routes misleads every client's author.
    start();
    std::set<std::string> routes;
    for (const auto& route : plugin_->context().http().routes()) {
      routes.insert((route.method == HttpMethod::Post ? "post " : "get ") + route.path);
    }
    std::set<std::string> described;
    const auto description = json::parse(described_api());
    CPPUNIT_ASSERT_MESSAGE(description ? "" : description.error().message, description.ok());
    for (const auto& [path, methods] : *description->find("paths")->as_object()) {
      for (const auto& [method, operation] : *methods.as_object()) described.insert(method + " " + path);
    }
    CPPUNIT_ASSERT(routes == described);
    CPPUNIT_ASSERT(plugin_->stop().ok());
  }

  void the_description_is_served() {
    // Clients generate their code from it.
    start();
    const auto answer = plugin_->context().http().call({HttpMethod::Get, "/openapi.json", "", {}, {}});
    CPPUNIT_ASSERT_EQUAL(described_api(), answer.response.body);
    CPPUNIT_ASSERT(plugin_->stop().ok());
  }

  void an_unknown_way_of_identifying_users_is_refused() {
    // Falling back to a weaker way would let anybody be anybody.
    plugin_->context().config().set("auth.mode", "jwt");
    const auto configured = plugin_->configure();
    CPPUNIT_ASSERT(!configured.ok());
    CPPUNIT_ASSERT(configured.error().message.find("auth.mode is \"jwt\", allowed is \"header\"") !=
                   std::string::npos);
  }

  void a_missing_description_refuses_the_start() {
    // It means that the installation is incomplete.
    std::filesystem::remove(share_.path() / "openapi.json");
    CPPUNIT_ASSERT(plugin_->configure().ok());
    const auto started = plugin_->start();
    CPPUNIT_ASSERT(!started.ok());
    CPPUNIT_ASSERT(started.error().message.find("openapi.json") != std::string::npos);
    CPPUNIT_ASSERT(plugin_->stop().ok());
  }

  void a_plugin_that_never_started_stops() {
    // The host stops every plugin, also after another one's failure.
    CPPUNIT_ASSERT(plugin_->configure().ok());
    CPPUNIT_ASSERT(plugin_->stop().ok());
  }

 private:
  void start() {
    CPPUNIT_ASSERT(plugin_->configure().ok());
    const auto started = plugin_->start();
    CPPUNIT_ASSERT_MESSAGE(started ? "" : started.error().message, started.ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginTest);

}  // namespace
