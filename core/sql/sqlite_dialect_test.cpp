#include "sql/database.hpp"

#include "penstock/testkit/temp_dir.hpp"

#include <Poco/Data/SQLite/SQLiteException.h>
#include <cppunit/extensions/HelperMacros.h>

namespace penstock::sql {

namespace lite = Poco::Data::SQLite;

class SqliteDialectTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SqliteDialectTest);
  CPPUNIT_TEST(every_kind_of_error_is_classified);
  CPPUNIT_TEST(only_a_lost_commit_has_an_unknown_outcome);
  CPPUNIT_TEST(instants_keep_their_milliseconds);
  CPPUNIT_TEST(now_is_utc_and_sorts_as_text);
  CPPUNIT_TEST(rows_keep_their_order_and_nulls);
  CPPUNIT_TEST(insert_skipping_skips_taken_keys_and_nothing_else);
  CPPUNIT_TEST(update_from_changes_each_row_by_its_own_values);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    database_ = Database::open({.path = dir_.path() / "d.db"}).value();
    in_transaction(
        [](Transaction& tx) { tx.execute("CREATE TABLE t (k TEXT PRIMARY KEY, v INTEGER CHECK (v >= 0))"); });
  }

  void every_kind_of_error_is_classified() {
    // Each of these asks the caller for something else: retry, answer the earlier order, stop and look.
    const auto& d = sqlite_dialect();
    using lite::ConstraintViolationException;
    CPPUNIT_ASSERT(d.classify(ConstraintViolationException("UNIQUE constraint failed: t.k")) ==
                   FailureKind::Unique);
    CPPUNIT_ASSERT(d.classify(ConstraintViolationException("CHECK constraint failed: v")) ==
                   FailureKind::Invariant);
    CPPUNIT_ASSERT(d.classify(ConstraintViolationException("NOT NULL constraint failed: t.v")) ==
                   FailureKind::Invariant);
    CPPUNIT_ASSERT(d.classify(lite::DBLockedException("x")) == FailureKind::Busy);
    CPPUNIT_ASSERT(d.classify(lite::TableLockedException("x")) == FailureKind::Busy);
    CPPUNIT_ASSERT(d.classify(lite::DatabaseFullException("x")) == FailureKind::Full);
    CPPUNIT_ASSERT(d.classify(lite::ReadOnlyException("x")) == FailureKind::ReadOnly);
    CPPUNIT_ASSERT(d.classify(lite::CantOpenDBFileException("x")) == FailureKind::CannotOpen);
    CPPUNIT_ASSERT(d.classify(lite::CorruptImageException("x")) == FailureKind::Damaged);
    CPPUNIT_ASSERT(d.classify(lite::IOErrorException("x")) == FailureKind::Lost);
    CPPUNIT_ASSERT(d.classify(lite::InvalidSQLStatementException("x")) == FailureKind::Misuse);
  }

  void only_a_lost_commit_has_an_unknown_outcome() {
    // Calling a lost COMMIT a failure would release stock that an order has.
    const Failure lost(FailureKind::Lost, "disk I/O error");
    CPPUNIT_ASSERT(to_error(lost, During::Commit).code == ErrorCode::UnknownOutcome);
    CPPUNIT_ASSERT(to_error(lost, During::Work).code == ErrorCode::Unavailable);
    CPPUNIT_ASSERT(to_error(Failure(FailureKind::Full, "x"), During::Commit).code == ErrorCode::Unavailable);
    CPPUNIT_ASSERT(to_error(Failure(FailureKind::Invariant, "x"), During::Work).code == ErrorCode::Corrupt);
  }

  void instants_keep_their_milliseconds() {
    // A deadline that loses a millisecond on its way is one that comparisons disagree about.
    in_transaction([](Transaction& tx) {
      const auto& d = tx.dialect();
      for (const std::int64_t ms :
           {0LL, 999LL, 1'700'000'000'001LL, 1'700'000'059'999LL, 4'102'444'800'007LL}) {
        const auto [back, later] = tx.query<std::int64_t, std::int64_t>(
            "SELECT " + d.epoch_ms("i") + ", " + d.epoch_ms(d.after("i", "1501")) + " FROM (SELECT " +
                d.instant("?") + " AS i)",
            ms)[0];
        CPPUNIT_ASSERT_EQUAL(ms, back);
        CPPUNIT_ASSERT_EQUAL(ms + 1501, later);
      }
    });
  }

  void now_is_utc_and_sorts_as_text() {
    // Deadlines are compared as text by an index, so the form must be the same everywhere.
    in_transaction([](Transaction& tx) {
      const auto& d = tx.dialect();
      const auto [text, ms, less] = tx.query<std::string, std::int64_t, std::int64_t>(
          "SELECT n, " + d.epoch_ms("n") + ", n < " + d.after("n", "1") + " FROM (SELECT " + d.now() +
          " AS n)")[0];
      CPPUNIT_ASSERT_EQUAL(std::size_t{23}, text.size());
      CPPUNIT_ASSERT_EQUAL(std::int64_t{1}, less);
      const auto here =
          std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count();
      CPPUNIT_ASSERT(std::abs(here - ms) < 5'000);
    });
  }

  void rows_keep_their_order_and_nulls() {
    // Answers go back by position, so position must come out as it went in.
    in_transaction([](Transaction& tx) {
      const auto rows = tx.query<std::int64_t, std::optional<std::string>, std::int64_t>(
          "SELECT r.i, r.a, r.b FROM " + tx.dialect().rows({{"a"}, {"b", RowType::Integer}}) +
              " ORDER BY r.i",
          R"([["z",3],[null,2],["a",1]])");
      CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rows.size());
      CPPUNIT_ASSERT(!std::get<1>(rows[1]));
      CPPUNIT_ASSERT_EQUAL(std::string("a"), *std::get<1>(rows[2]));
      CPPUNIT_ASSERT_EQUAL(std::int64_t{2}, std::get<0>(rows[2]));
    });
  }

  void insert_skipping_skips_taken_keys_and_nothing_else() {
    // A duplicate is expected; a broken CHECK must not vanish with it.
    in_transaction([](Transaction& tx) {
      const auto& d = tx.dialect();
      const auto sql =
          d.insert_skipping("t", "k, v", "SELECT r.a, r.b FROM " + d.rows({{"a"}, {"b", RowType::Integer}}));
      CPPUNIT_ASSERT_EQUAL(std::size_t{2}, tx.execute(sql, R"([["a",1],["b",1],["a",2]])"));
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, tx.execute(sql, R"([["a",9]])"));
      CPPUNIT_ASSERT_THROW(tx.execute(sql, R"([["c",-1]])"), Failure);
    });
  }

  void update_from_changes_each_row_by_its_own_values() {
    // One statement per batch, however many rows.
    in_transaction([](Transaction& tx) {
      const auto& d = tx.dialect();
      tx.execute("INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3)");
      const auto sql = d.update_from("t", {{"v", "t.v + r.by"}}, d.rows({{"key_"}, {"by", RowType::Integer}}),
                                     "t.k = r.key_ AND t.v + r.by < 100");
      CPPUNIT_ASSERT_EQUAL(std::size_t{2}, tx.execute(sql, R"([["a",10],["c",20],["b",100],["none",1]])"));
      const auto values = tx.query<std::int64_t>("SELECT v FROM t ORDER BY k");
      CPPUNIT_ASSERT((values == std::vector<std::tuple<std::int64_t>>{{11}, {2}, {23}}));
    });
  }

 private:
  template <class Work>
  void in_transaction(Work work) {
    const auto done = database_->write([&](Transaction& tx) -> Result<void> {
      work(tx);
      return {};
    });
    CPPUNIT_ASSERT_MESSAGE(done.ok() ? "" : done.error().message, done.ok());
  }

  testkit::TempDir dir_;
  std::shared_ptr<Database> database_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(SqliteDialectTest);

}  // namespace penstock::sql
