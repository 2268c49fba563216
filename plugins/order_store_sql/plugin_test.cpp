#include "order_store_sql/sql_order_store.hpp"
#include "penstock/orders/stock_books.hpp"
#include "penstock/testkit/plugin_under_test.hpp"
#include "penstock/testkit/temp_dir.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>

namespace penstock::order_store_sql {

using namespace orders;

class PluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginTest);
  CPPUNIT_TEST(a_start_makes_the_tables_and_is_ready);
  CPPUNIT_TEST(without_auto_migrate_it_waits_for_the_operator);
  CPPUNIT_TEST(a_newer_schema_refuses_the_start);
  CPPUNIT_TEST(configuring_touches_no_file);
  CPPUNIT_TEST(a_missing_data_folder_refuses_the_start_by_name);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    plugin_.emplace();
    plugin_->context().paths() = {dir_.path(), dir_.path() / "share"};
    std::filesystem::create_directories(dir_.path() / "share" / "schema" / "sqlite");
    for (const auto& step : std::filesystem::directory_iterator(PENSTOCK_SCHEMA_DIR)) {
      std::filesystem::copy_file(step.path(), steps() / step.path().filename());
    }
  }
  void tearDown() override { plugin_.reset(); }

  void a_start_makes_the_tables_and_is_ready() {
    // A newcomer starts it on an empty folder.
    start();
    CPPUNIT_ASSERT_EQUAL(std::string(), health());
    CPPUNIT_ASSERT(services().require<OrderStore>().now().ok());
    CPPUNIT_ASSERT(services().require<StockBooks>().books().ok());
    CPPUNIT_ASSERT(services().require<SchemaAdmin>().status()->pending.empty());
    CPPUNIT_ASSERT(std::filesystem::exists(dir_.path() / "penstock.db"));
    CPPUNIT_ASSERT(plugin_->stop().ok());
  }

  void without_auto_migrate_it_waits_for_the_operator() {
    // In production the schema changes when its operator says so, with the program that can do it running.
    plugin_->context().config().set("auto_migrate", "false");
    start();
    CPPUNIT_ASSERT(health().find("penstock migrate") != std::string::npos);
    CPPUNIT_ASSERT(services().require<SchemaAdmin>().migrate().ok());
    CPPUNIT_ASSERT(plugin_->stop().ok());
  }

  void a_newer_schema_refuses_the_start() {
    // An old program must not write into tables that it does not know.
    int last = 0;
    for (const auto& step : std::filesystem::directory_iterator(steps())) {
      last = std::max(last, std::stoi(step.path().filename().string().substr(0, 3)));
    }
    char name[32];
    std::snprintf(name, sizeof name, "%03d_newer.sql", last + 1);
    std::ofstream(steps() / name) << "CREATE TABLE newer (a INTEGER);\n";
    start();
    CPPUNIT_ASSERT(plugin_->stop().ok());
    std::filesystem::remove(steps() / name);
    CPPUNIT_ASSERT(plugin_->start().error().code == ErrorCode::Conflict);
    CPPUNIT_ASSERT(plugin_->stop().ok());
  }

  void configuring_touches_no_file() {
    // `penstock check` configures and must leave nothing behind.
    CPPUNIT_ASSERT(plugin_->configure().ok());
    CPPUNIT_ASSERT(!std::filesystem::exists(dir_.path() / "penstock.db"));
    CPPUNIT_ASSERT(plugin_->stop().ok());
  }

  void a_missing_data_folder_refuses_the_start_by_name() {
    // The path that was tried is what the reader of the log needs.
    plugin_->context().paths().data = dir_.path() / "missing";
    CPPUNIT_ASSERT(plugin_->configure().ok());
    CPPUNIT_ASSERT(plugin_->start().error().message.find("missing/penstock.db") != std::string::npos);
    CPPUNIT_ASSERT(plugin_->stop().ok());
  }

 private:
  void start() {
    CPPUNIT_ASSERT(plugin_->configure().ok());
    const auto started = plugin_->start();
    CPPUNIT_ASSERT_MESSAGE(started.ok() ? "" : started.error().message, started.ok());
  }
  std::filesystem::path steps() const { return dir_.path() / "share" / "schema" / "sqlite"; }
  std::string health() { return plugin_->context().health().state("database"); }
  Services& services() { return plugin_->context().services(); }

  testkit::TempDir dir_;
  std::optional<testkit::PluginUnderTest> plugin_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginTest);

}  // namespace penstock::order_store_sql
