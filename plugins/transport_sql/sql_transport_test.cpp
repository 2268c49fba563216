// What is the SQL transport's own; what it shares with every transport is in the contract.
#include "transport_sql/sql_transport.hpp"

#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/wait_until.hpp"
#include "transport_sql/database_under_test.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <atomic>

namespace penstock::transport_sql {

using namespace std::chrono_literals;

class SqlTransportTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SqlTransportTest);
  CPPUNIT_TEST(publish_wakes_subscribers_without_polling);
  CPPUNIT_TEST(due_times_are_kept_without_polling);
  CPPUNIT_TEST(same_id_is_stored_once_even_when_parked);
  CPPUNIT_TEST(passed_deadline_stores_nothing);
  CPPUNIT_TEST(missing_tables_refuse_with_a_reason);
  CPPUNIT_TEST(hot_statements_search_by_index);
  CPPUNIT_TEST(done_messages_leave_no_rows);
  CPPUNIT_TEST_SUITE_END();

  static constexpr SqlTransportSettings kNoPolling{
      .max_body_bytes = 1'000, .poll = 10min, .back_off = {10ms, 20ms}};

  DatabaseUnderTest database_;
  testkit::RealClock clock_;
  testkit::SeededRandom random_{1};
  testkit::RecordingLogger logger_;
  SqlTransport transport_{kNoPolling, database_.get(), clock_, random_, logger_};
  const QueueName queue_{"work"};
  std::atomic<int> delivered_{0};

 public:
  void setUp() override { CPPUNIT_ASSERT(transport_.declare({{{queue_, {"key"}, 3}}}).ok()); }

 private:
  PublishAnswer publish(SqlTransport& transport, const std::string& id, Milliseconds delay = 0ms) {
    const Message message{EventId(id), "key", "{}", "", delay};
    return transport.publish({&message, 1}, Deadline::max()).at(0);
  }
  void confirm(const std::string& id, Milliseconds delay = 0ms) {
    const auto answer = publish(transport_, id, delay);
    CPPUNIT_ASSERT_MESSAGE(answer.detail, answer.outcome == PublishOutcome::Confirmed);
  }
  std::unique_ptr<Subscription> subscribe(Settlement settlement) {
    auto subscription =
        transport_.subscribe({.queue = queue_}, [this, settlement](std::span<const Delivery> deliveries) {
          delivered_ += static_cast<int>(deliveries.size());
          return std::vector<Settlement>(deliveries.size(), settlement);
        });
    CPPUNIT_ASSERT(subscription.ok());
    return std::move(*subscription);
  }
  bool delivers(int count) {
    return testkit::wait_until([&] { return delivered_ >= count; });
  }
  std::int64_t count_rows() {
    const auto rows = database_.get()->read([](sql::Transaction& tx) -> Result<std::int64_t> {
      return std::get<0>(tx.query<std::int64_t>("SELECT COUNT(*) FROM transport_message").at(0));
    });
    return *rows;
  }

  void publish_wakes_subscribers_without_polling() {
    // Every hop of an order would otherwise wait for a poll.
    const auto subscription = subscribe(Done{});
    for (int i = 1; i <= 10; ++i) {
      confirm("m-" + std::to_string(i));
      CPPUNIT_ASSERT(delivers(i));
    }
    CPPUNIT_ASSERT(subscription->stop(Deadline::max()).ok());
  }

  void due_times_are_kept_without_polling() {
    // A pay deadline must fire at its second, also behind a later one, and again after a retry.
    const auto subscription = subscribe(RetryLater{50ms, "not yet"});
    confirm("late", 1h);
    confirm("soon", 100ms);
    CPPUNIT_ASSERT(delivers(3));
    CPPUNIT_ASSERT(testkit::wait_until([&] { return transport_.depth(queue_)->dead == 1; }));
    CPPUNIT_ASSERT(subscription->stop(Deadline::max()).ok());
  }

  void same_id_is_stored_once_even_when_parked() {
    // After an unknown outcome the publisher sends again: a copy in the queue, or among the parked, is
    // enough.
    confirm("m-1");
    confirm("m-1");
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), transport_.depth(queue_)->ready);
    const auto subscription = subscribe(Dead{"bad"});
    CPPUNIT_ASSERT(testkit::wait_until([&] { return transport_.depth(queue_)->dead == 1; }));
    confirm("m-1");
    CPPUNIT_ASSERT(subscription->stop(Deadline::max()).ok());
    CPPUNIT_ASSERT_EQUAL(1, delivered_.load());
    CPPUNIT_ASSERT_EQUAL(std::int64_t(1), count_rows());
  }

  void passed_deadline_stores_nothing() {
    // The caller has given up; storing afterwards would make its answer wrong.
    const Message message{EventId("m-1"), "key", "{}", "", 0ms};
    const auto answers = transport_.publish({&message, 1}, clock_.steady_now() - 1ms);
    CPPUNIT_ASSERT(answers.at(0).outcome == PublishOutcome::Refused);
    CPPUNIT_ASSERT_EQUAL(std::int64_t(0), count_rows());
  }

  void missing_tables_refuse_with_a_reason() {
    // A start before the migration must neither crash nor pretend.
    testkit::TempDir dir;
    SqlTransport bare(kNoPolling, *sql::Database::open({.path = dir.path() / "bare.db"}), clock_, random_,
                      logger_);
    const auto answer = publish(bare, "m-1");
    CPPUNIT_ASSERT(answer.outcome == PublishOutcome::Refused);
    CPPUNIT_ASSERT_MESSAGE(answer.detail, answer.detail.find("transport_binding") != std::string::npos);
    CPPUNIT_ASSERT(!bare.depth(queue_).ok());
    CPPUNIT_ASSERT(!bare.declare({{{queue_, {"key"}, 3}}}).ok());
  }

  void hot_statements_search_by_index() {
    // A statement that scans gets slower with every waiting message, just when there is no time for it.
    const Statements all(database_.get()->dialect());
    for (const auto* text : {&all.next_due, &all.look, &all.due_messages, &all.due_suspect, &all.park_expired,
                             &all.reclaim, &all.lease, &all.hand_back, &all.done, &all.retry, &all.dead,
                             &all.depth, &all.oldest, &all.list_dead, &all.replay, &all.drop}) {
      const auto plan = database_.get()->read([&](sql::Transaction& tx) -> Result<std::string> {
        std::string lines;
        for (auto& [id, parent, unused, detail] :
             tx.query<std::int64_t, std::int64_t, std::int64_t, std::string>("EXPLAIN QUERY PLAN " +
                                                                             with_literals(*text))) {
          lines += detail + "\n";
        }
        return lines;
      });
      CPPUNIT_ASSERT_MESSAGE(plan ? "" : plan.error().message, plan.ok());
      CPPUNIT_ASSERT_MESSAGE(*text + "\n" + *plan,
                             plan->find("SEARCH transport_message") != std::string::npos);
      CPPUNIT_ASSERT_MESSAGE(*text + "\n" + *plan, plan->find("SCAN transport_message") == std::string::npos);
    }
  }

  // The planner needs no values, but each placeholder must have one.
  static std::string with_literals(std::string text) {
    for (auto at = text.find('?'); at != std::string::npos; at = text.find('?')) {
      const bool rows = at >= 10 && text.compare(at - 10, 10, "json_each(") == 0;
      text.replace(at, 1, rows ? "'[]'" : "1");
    }
    return text;
  }

  void done_messages_leave_no_rows() {
    // The table must stay as small as the backlog, however long the sale.
    for (int i = 0; i < 20; ++i) confirm("m-" + std::to_string(i));
    const auto subscription = subscribe(Done{});
    CPPUNIT_ASSERT(testkit::wait_until([&] { return count_rows() == 0; }));
    CPPUNIT_ASSERT(subscription->stop(Deadline::max()).ok());
    CPPUNIT_ASSERT_EQUAL(20, delivered_.load());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SqlTransportTest);

}  // namespace penstock::transport_sql
