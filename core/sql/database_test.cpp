#include "sql/database.hpp"

#include "penstock/testkit/temp_dir.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace penstock::sql {

class DatabaseTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DatabaseTest);
  CPPUNIT_TEST(an_error_or_an_exception_rolls_back_what_was_written);
  CPPUNIT_TEST(values_come_back_digit_for_digit);
  CPPUNIT_TEST(a_null_is_told_apart_from_zero_and_empty);
  CPPUNIT_TEST(the_same_file_opened_twice_is_one_database);
  CPPUNIT_TEST(writers_of_one_process_never_meet_a_lock);
  CPPUNIT_TEST(a_reader_sees_one_snapshot_while_others_write);
  CPPUNIT_TEST(a_lost_race_is_run_again_and_at_last_reported);
  CPPUNIT_TEST(a_lock_held_by_another_process_is_unavailable_not_a_hang);
  CPPUNIT_TEST(a_writer_that_waits_too_long_is_told_overloaded);
  CPPUNIT_TEST(a_violated_constraint_is_told_apart_from_a_taken_key);
  CPPUNIT_TEST(a_full_disk_changes_nothing_and_the_next_write_works);
  CPPUNIT_TEST(a_file_that_is_no_database_is_corrupt);
  CPPUNIT_TEST(a_missing_folder_is_named);
  CPPUNIT_TEST(a_killed_process_leaves_nothing_of_its_open_transaction);
  CPPUNIT_TEST(commits_survive_with_the_settings_that_the_promise_rests_on);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    settings_.path = dir_.path() / "test.db";
    database_ = open(settings_);
    const auto made = database_->write([](Transaction& tx) -> Result<void> {
      tx.execute("CREATE TABLE t (k TEXT PRIMARY KEY, v INTEGER NOT NULL CHECK (v >= 0), o INTEGER, p TEXT)");
      return {};
    });
    CPPUNIT_ASSERT(made.ok());
  }

  void an_error_or_an_exception_rolls_back_what_was_written() {
    // Half a unit of work would be an order without its event.
    const auto refused = database_->write([](Transaction& tx) -> Result<void> {
      tx.execute("INSERT INTO t(k, v) VALUES ('a', 1)");
      return Error{ErrorCode::Conflict, "no"};
    });
    CPPUNIT_ASSERT(refused.error().code == ErrorCode::Conflict);
    const auto thrown = database_->write([](Transaction& tx) -> Result<void> {
      tx.execute("INSERT INTO t(k, v) VALUES ('b', 1)");
      throw std::runtime_error("bug");
    });
    CPPUNIT_ASSERT(thrown.error().code == ErrorCode::Internal);
    CPPUNIT_ASSERT_EQUAL(std::int64_t{0}, count());
  }

  void values_come_back_digit_for_digit() {
    // 2^53 + 1 is the first integer that a double loses.
    const auto rows =
        database_->write([](Transaction& tx) -> Result<std::vector<std::tuple<std::string, std::int64_t>>> {
          const auto changed = tx.execute("INSERT INTO t(k, v) SELECT r.k, r.v FROM " +
                                              tx.dialect().rows({{"k"}, {"v", RowType::Integer}}),
                                          R"([["9007199254740993",9007199254740993],["quote \" ' ü",1]])");
          CPPUNIT_ASSERT_EQUAL(std::size_t{2}, changed);
          return tx.query<std::string, std::int64_t>("SELECT k, v FROM t ORDER BY k");
        });
    CPPUNIT_ASSERT(rows.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("9007199254740993"), std::get<0>((*rows)[0]));
    CPPUNIT_ASSERT_EQUAL(std::int64_t{9007199254740993}, std::get<1>((*rows)[0]));
    CPPUNIT_ASSERT_EQUAL(std::string("quote \" ' ü"), std::get<0>((*rows)[1]));
  }

  void a_null_is_told_apart_from_zero_and_empty() {
    // A tombstone's user is NULL, not "".
    const auto rows = database_->write([](Transaction& tx) -> Result<bool> {
      tx.execute("INSERT INTO t(k, v, o, p) VALUES ('a', 1, NULL, NULL), ('b', 1, 0, '')");
      const auto found =
          tx.query<std::optional<std::int64_t>, std::optional<std::string>>("SELECT o, p FROM t ORDER BY k");
      const auto& [o1, p1] = found[0];
      const auto& [o2, p2] = found[1];
      return !o1 && !p1 && o2 == 0 && p2 == "";
    });
    CPPUNIT_ASSERT(*rows);
  }

  void the_same_file_opened_twice_is_one_database() {
    // Two queues for one lock would bring back the polling that one queue avoids.
    auto other = settings_;
    other.path = dir_.path() / "." / "test.db";
    CPPUNIT_ASSERT_EQUAL(database_.get(), open(other).get());
  }

  void writers_of_one_process_never_meet_a_lock() {
    // SQLite polls for its lock with growing pauses, so luck would decide who starves.
    settings_.path = dir_.path() / "no_patience.db";
    settings_.busy_wait = Milliseconds(0);
    settings_.max_reruns = 0;
    settings_.session_wait = std::chrono::seconds(60);
    const auto database = open(settings_);
    CPPUNIT_ASSERT(database
                       ->write([](Transaction& tx) -> Result<void> {
                         tx.execute("CREATE TABLE n (v INTEGER)");
                         return {};
                       })
                       .ok());
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          const auto wrote = database->write([](Transaction& tx) -> Result<void> {
            tx.execute("INSERT INTO n VALUES (1)");
            return {};
          });
          if (!wrote.ok()) ++failures;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CPPUNIT_ASSERT_EQUAL(0, failures.load());
  }

  void a_reader_sees_one_snapshot_while_others_write() {
    // The books read in one transaction must not count a unit in two places.
    const auto seen = database_->read([&](Transaction& tx) -> Result<std::pair<std::int64_t, std::int64_t>> {
      const auto before = std::get<0>(tx.query<std::int64_t>("SELECT count(*) FROM t")[0]);
      std::thread([&] { CPPUNIT_ASSERT(insert("x").ok()); }).join();
      return std::pair{before, std::get<0>(tx.query<std::int64_t>("SELECT count(*) FROM t")[0])};
    });
    CPPUNIT_ASSERT_EQUAL(seen->first, seen->second);
    CPPUNIT_ASSERT_EQUAL(std::int64_t{1}, count());
  }

  void a_lost_race_is_run_again_and_at_last_reported() {
    // A race is settled by reading anew; a race without end is somebody's defect and must show.
    int runs = 0;
    const auto won = database_->write([&](Transaction&) -> Result<int> {
      if (++runs < 3) throw Failure(FailureKind::Raced, "rows changed");
      return runs;
    });
    CPPUNIT_ASSERT_EQUAL(3, *won);
    const auto lost = database_->write(
        [&](Transaction&) -> Result<int> { throw Failure(FailureKind::Raced, "rows changed"); });
    CPPUNIT_ASSERT(lost.error().code == ErrorCode::Unavailable);
  }

  void a_lock_held_by_another_process_is_unavailable_not_a_hang() {
    // A backup tool that holds the file must cost a bounded time and no data.
    settings_.busy_wait = Milliseconds(20);
    settings_.max_reruns = 1;
    settings_.path = dir_.path() / "shared.db";
    const auto mine = open(settings_);
    const auto touch = [](Transaction& tx) -> Result<void> {
      tx.execute("CREATE TABLE IF NOT EXISTS x (a INTEGER)");
      return {};
    };
    CPPUNIT_ASSERT(mine->write(touch).ok());
    // A symbolic link is not another database: one file has one queue.
    auto theirs_settings = settings_;
    theirs_settings.path = dir_.path() / "link.db";
    std::filesystem::create_symlink(settings_.path, theirs_settings.path);
    CPPUNIT_ASSERT_EQUAL_MESSAGE("a link is seen through", mine.get(), open(theirs_settings).get());
    const Holder holder(settings_.path);
    CPPUNIT_ASSERT(mine->write(touch).error().code == ErrorCode::Unavailable);
    CPPUNIT_ASSERT_MESSAGE("reading goes on", mine->read([](Transaction& tx) -> Result<void> {
                                                    tx.query<std::int64_t>("SELECT count(*) FROM x");
                                                    return {};
                                                  })
                                                  .ok());
  }

  void a_writer_that_waits_too_long_is_told_overloaded() {
    // The queue is bounded in time, so a stuck writer does not collect threads for ever.
    settings_.path = dir_.path() / "slow.db";
    settings_.session_wait = Milliseconds(20);
    const auto database = open(settings_);
    const auto outer = database->write([&](Transaction&) -> Result<ErrorCode> {
      ErrorCode inner{};
      std::thread([&] {
        inner = database->write([](Transaction&) -> Result<void> { return {}; }).error().code;
      }).join();
      return inner;
    });
    CPPUNIT_ASSERT(*outer == ErrorCode::Overloaded);
  }

  void a_violated_constraint_is_told_apart_from_a_taken_key() {
    // A taken key is business; a violated CHECK means that the books would be wrong.
    CPPUNIT_ASSERT(insert("a").ok());
    CPPUNIT_ASSERT(insert("a").error().code == ErrorCode::Conflict);
    const auto negative = database_->write([](Transaction& tx) -> Result<void> {
      tx.execute("INSERT INTO t(k, v) VALUES ('n', -1)");
      return {};
    });
    CPPUNIT_ASSERT(negative.error().code == ErrorCode::Corrupt);
    CPPUNIT_ASSERT(negative.error().message.find("CHECK") != std::string::npos);
  }

  void a_full_disk_changes_nothing_and_the_next_write_works() {
    // SQLite rolls back by itself when the disk is full; our state must follow it.
    const auto full = database_->write([](Transaction& tx) -> Result<void> {
      tx.execute("PRAGMA max_page_count = 4");
      tx.execute("INSERT INTO t(k, v) SELECT hex(randomblob(2000)), 1 FROM json_each('[1,2,3,4,5,6,7,8,9]')");
      return {};
    });
    CPPUNIT_ASSERT(full.error().code == ErrorCode::Unavailable);
    CPPUNIT_ASSERT_EQUAL(std::int64_t{0}, count());
    CPPUNIT_ASSERT(insert("after").ok());
  }

  void a_file_that_is_no_database_is_corrupt() {
    // Writing into somebody's spreadsheet would be worse than not starting.
    settings_.path = dir_.path() / "notes.txt";
    {
      std::FILE* file = std::fopen(settings_.path.c_str(), "w");
      for (int i = 0; i < 1000; ++i) std::fputs("not a database ", file);
      std::fclose(file);
    }
    const auto answer = open(settings_)->read([](Transaction&) -> Result<void> { return {}; });
    CPPUNIT_ASSERT(answer.error().code == ErrorCode::Corrupt);
  }

  void a_missing_folder_is_named() {
    // The person who mistyped data.dir must see the path that was tried.
    settings_.path = "/nonexistent/penstock.db";
    const auto answer = open(settings_)->read([](Transaction&) -> Result<void> { return {}; });
    CPPUNIT_ASSERT(answer.error().code == ErrorCode::Unavailable);
    CPPUNIT_ASSERT(answer.error().message.find("/nonexistent/penstock.db") != std::string::npos);
  }

  void a_killed_process_leaves_nothing_of_its_open_transaction() {
    // kill -9 between the rows and COMMIT must leave neither an order nor an event.
    settings_.path = dir_.path() / "killed.db";
    const pid_t child = ::fork();
    if (child == 0) {
      auto database = Database::open(settings_);
      static_cast<void>(database.value()->write([](Transaction& tx) -> Result<void> {
        tx.execute("CREATE TABLE x (a INTEGER)");
        return {};
      }));
      static_cast<void>(database.value()->write([](Transaction& tx) -> Result<void> {
        tx.execute("INSERT INTO x VALUES (1)");
        ::_exit(137);
      }));
    }
    int status = 0;
    CPPUNIT_ASSERT_EQUAL(child, ::waitpid(child, &status, 0));
    CPPUNIT_ASSERT_EQUAL(137, WEXITSTATUS(status));
    const auto rows = open(settings_)->read([](Transaction& tx) -> Result<std::int64_t> {
      return std::get<0>(tx.query<std::int64_t>("SELECT count(*) FROM x")[0]);
    });
    CPPUNIT_ASSERT_EQUAL(std::int64_t{0}, *rows);
  }

  void commits_survive_with_the_settings_that_the_promise_rests_on() {
    // *Committed* means on the disk: anything but WAL with FULL would be another promise.
    const auto modes = database_->read([](Transaction& tx) -> Result<std::pair<std::string, std::int64_t>> {
      return std::pair{std::get<0>(tx.query<std::string>("PRAGMA journal_mode")[0]),
                       std::get<0>(tx.query<std::int64_t>("PRAGMA synchronous")[0])};
    });
    CPPUNIT_ASSERT_EQUAL(std::string("wal"), modes->first);
    CPPUNIT_ASSERT_EQUAL(std::int64_t{2}, modes->second);
  }

 private:
  // Another process that holds the write lock from construction to destruction.
  class Holder {
   public:
    explicit Holder(const std::filesystem::path& path) {
      CPPUNIT_ASSERT_EQUAL(0, ::pipe(ready_));
      CPPUNIT_ASSERT_EQUAL(0, ::pipe(done_));
      child_ = ::fork();
      if (child_ == 0) hold(path);
      char byte = 0;
      CPPUNIT_ASSERT_EQUAL(ssize_t{1}, ::read(ready_[0], &byte, 1));
    }
    ~Holder() {
      ::close(done_[1]);
      ::waitpid(child_, nullptr, 0);
      ::close(ready_[0]);
      ::close(ready_[1]);
      ::close(done_[0]);
    }

   private:
    [[noreturn]] void hold(const std::filesystem::path& path) {
      ::close(done_[1]);
      Settings settings;
      // A path of its own spelling: what the parent has open must not be used after a fork.
      settings.path = path.parent_path() / "holder.db";
      std::filesystem::create_hard_link(path, settings.path);
      std::filesystem::create_hard_link(path.string() + "-wal", settings.path.string() + "-wal");
      std::filesystem::create_hard_link(path.string() + "-shm", settings.path.string() + "-shm");
      static_cast<void>(Database::open(settings).value()->write([&](Transaction&) -> Result<void> {
        char byte = 'r';
        static_cast<void>(!::write(ready_[1], &byte, 1));
        static_cast<void>(!::read(done_[0], &byte, 1));
        return {};
      }));
      ::_exit(0);
    }

    int ready_[2]{};
    int done_[2]{};
    pid_t child_ = 0;
  };

  static std::shared_ptr<Database> open(const Settings& settings) {
    auto opened = Database::open(settings);
    CPPUNIT_ASSERT(opened.ok());
    return *opened;
  }
  Result<void> insert(const std::string& key) {
    return database_->write([&](Transaction& tx) -> Result<void> {
      tx.execute("INSERT INTO t(k, v) VALUES (?, ?)", key, 1);
      return {};
    });
  }
  std::int64_t count() {
    const auto rows = database_->read([](Transaction& tx) -> Result<std::int64_t> {
      return std::get<0>(tx.query<std::int64_t>("SELECT count(*) FROM t")[0]);
    });
    CPPUNIT_ASSERT(rows.ok());
    return *rows;
  }

  testkit::TempDir dir_;
  Settings settings_;
  std::shared_ptr<Database> database_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(DatabaseTest);

}  // namespace penstock::sql
