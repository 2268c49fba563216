#include "sql/migrator.hpp"

#include "penstock/testkit/temp_dir.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <fstream>

namespace penstock::sql {

class MigratorTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(MigratorTest);
  CPPUNIT_TEST(pending_steps_are_applied_in_order_once);
  CPPUNIT_TEST(a_step_that_fails_leaves_whole_steps_only);
  CPPUNIT_TEST(a_newer_database_is_refused);
  CPPUNIT_TEST(a_changed_step_is_refused);
  CPPUNIT_TEST(misnamed_missing_and_doubled_steps_are_named);
  CPPUNIT_TEST(statements_end_at_a_line_that_ends_in_a_semicolon);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    database_ = Database::open({.path = dir_.path() / "m.db"}).value();
    std::filesystem::create_directory(steps_);
  }

  void pending_steps_are_applied_in_order_once() {
    // Every start may migrate, so a second run must change nothing.
    write("001_first.sql", "CREATE TABLE a (x INTEGER);\nCREATE TABLE b (x INTEGER);\n");
    write("002_second.sql", "INSERT INTO a VALUES (1);\n");
    const auto before = migrator().status();
    CPPUNIT_ASSERT_EQUAL(0, before->current);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, before->pending.size());
    CPPUNIT_ASSERT_EQUAL(2, migrator().migrate()->current);
    CPPUNIT_ASSERT(migrator().migrate()->pending.empty());
    CPPUNIT_ASSERT_EQUAL(std::int64_t{1}, count("a"));
  }

  void a_step_that_fails_leaves_whole_steps_only() {
    // Half a step could be neither repeated nor undone.
    write("001_first.sql", "CREATE TABLE a (x INTEGER);\n");
    write("002_bad.sql", "INSERT INTO a VALUES (1);\nINSERT INTO nowhere VALUES (1);\n");
    const auto failed = migrator().migrate();
    CPPUNIT_ASSERT(failed.error().message.find("002_bad") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(1, migrator().status()->current);
    CPPUNIT_ASSERT_EQUAL(std::int64_t{0}, count("a"));
  }

  void a_newer_database_is_refused() {
    // An old program on a new schema would write rows that the new one cannot read.
    write("001_first.sql", "CREATE TABLE a (x INTEGER);\n");
    write("002_new.sql", "CREATE TABLE b (x INTEGER);\n");
    CPPUNIT_ASSERT(migrator().migrate().ok());
    std::filesystem::remove(steps_ / "002_new.sql");
    CPPUNIT_ASSERT(migrator().migrate().error().code == ErrorCode::Conflict);
    CPPUNIT_ASSERT(migrator().status().error().message.find("002_new") != std::string::npos);
  }

  void a_changed_step_is_refused() {
    // Two databases with the same step number must have the same tables.
    write("001_first.sql", "CREATE TABLE a (x INTEGER);\n");
    CPPUNIT_ASSERT(migrator().migrate().ok());
    write("001_first.sql", "CREATE TABLE a (y INTEGER);\n");
    CPPUNIT_ASSERT(migrator().status().error().code == ErrorCode::Conflict);
  }

  void misnamed_missing_and_doubled_steps_are_named() {
    // A step that is skipped because of its name would be missed in production first.
    CPPUNIT_ASSERT(migrator().status().error().code == ErrorCode::NotFound);
    write("002_second.sql", "SELECT 1;\n");
    CPPUNIT_ASSERT(migrator().status().error().message.find("002_second") != std::string::npos);
    write("001_first.sql", "SELECT 1;\n");
    write("001_other.sql", "SELECT 1;\n");
    CPPUNIT_ASSERT(migrator().status().error().code == ErrorCode::InvalidArgument);
    std::filesystem::remove(steps_ / "001_other.sql");
    write("3_third.sql", "SELECT 1;\n");
    CPPUNIT_ASSERT(migrator().status().error().message.find("3_third.sql") != std::string::npos);
  }

  void statements_end_at_a_line_that_ends_in_a_semicolon() {
    // One statement per call works on every engine; several in one text do not.
    const auto parts = split_statements(
        "-- a; comment;\nCREATE TABLE a (\n  x TEXT DEFAULT ';x'\n);\n\nSELECT 1;  \r\nSELECT 2");
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, parts.size());
    CPPUNIT_ASSERT_EQUAL(std::string("CREATE TABLE a (\n  x TEXT DEFAULT ';x'\n)"), parts[0]);
    CPPUNIT_ASSERT_EQUAL(std::string("SELECT 1"), parts[1]);
    CPPUNIT_ASSERT_EQUAL(std::string("SELECT 2\n"), parts[2]);
  }

 private:
  Migrator migrator() { return {*database_, steps_}; }
  void write(const std::string& name, const std::string& text) { std::ofstream(steps_ / name) << text; }
  std::int64_t count(const std::string& table) {
    return *database_->read([&](Transaction& tx) -> Result<std::int64_t> {
      return std::get<0>(tx.query<std::int64_t>("SELECT count(*) FROM " + table)[0]);
    });
  }

  testkit::TempDir dir_;
  const std::filesystem::path steps_ = dir_.path() / "schema";
  std::shared_ptr<Database> database_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(MigratorTest);

}  // namespace penstock::sql
