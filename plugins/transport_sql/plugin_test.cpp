#include "penstock/testkit/plugin_under_test.hpp"
#include "penstock/testkit/temp_dir.hpp"
#include "penstock/testkit/wait_until.hpp"
#include "penstock/transport.hpp"
#include "sql/migrator.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace penstock::transport_sql {

class PluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginTest);
  CPPUNIT_TEST(start_with_auto_migrate_makes_the_tables);
  CPPUNIT_TEST(start_before_the_migration_waits_for_it);
  CPPUNIT_TEST(database_that_cannot_be_opened_is_named);
  CPPUNIT_TEST_SUITE_END();

  testkit::TempDir dir_;
  testkit::PluginUnderTest plugin_;

 public:
  void setUp() override {
    plugin_.context().paths() = {dir_.path(), PENSTOCK_SHARE_DIR};
    plugin_.context().config().set("health_every_ms", "100");
  }

 private:
  std::string state() { return plugin_.context().health().state("transport"); }

  void start_with_auto_migrate_makes_the_tables() {
    // One switch must be enough for a first run.
    plugin_.context().config().set("auto_migrate", "true");
    CPPUNIT_ASSERT(plugin_.configure().ok());
    CPPUNIT_ASSERT(plugin_.start().ok());
    CPPUNIT_ASSERT_EQUAL(std::string(), state());
    auto& transport = plugin_.context().services().require<Transport>();
    CPPUNIT_ASSERT(transport.declare({{{QueueName("work"), {"key"}, 5}}}).ok());
    CPPUNIT_ASSERT(plugin_.context().services().require<DeadLetters>().list(QueueName("work"), 1)->empty());
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }

  void start_before_the_migration_waits_for_it() {
    // The order store, which makes the tables in the same file, may start later.
    CPPUNIT_ASSERT(plugin_.configure().ok());
    CPPUNIT_ASSERT(plugin_.start().ok());
    CPPUNIT_ASSERT_MESSAGE(state(), state().find("penstock migrate") != std::string::npos);
    const auto database = sql::Database::open({.path = dir_.path() / "penstock.db"});
    CPPUNIT_ASSERT(
        sql::Migrator(**database, std::string(PENSTOCK_SHARE_DIR) + "/schema/sqlite").migrate().ok());
    CPPUNIT_ASSERT(testkit::wait_until([&] { return state().empty(); }));
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }

  void database_that_cannot_be_opened_is_named() {
    // The operator must read which file it was.
    plugin_.context().config().set("path", "no/such/folder/penstock.db").set("auto_migrate", "true");
    CPPUNIT_ASSERT(plugin_.configure().ok());
    const auto started = plugin_.start();
    CPPUNIT_ASSERT(!started.ok());
    CPPUNIT_ASSERT_MESSAGE(started.error().message,
                           started.error().message.find("no/such/folder") != std::string::npos);
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginTest);

}  // namespace penstock::transport_sql
