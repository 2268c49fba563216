// Messages that kill the process they are delivered to, with real processes.
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/wait_until.hpp"
#include "transport_sql/database_under_test.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <spawn.h>
#include <sys/wait.h>

extern char** environ;

namespace penstock::transport_sql {

using namespace std::chrono_literals;

class CrashTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CrashTest);
  CPPUNIT_TEST(message_that_kills_its_process_is_parked_without_its_neighbours);
  CPPUNIT_TEST(message_of_a_killed_process_is_delivered_again);
  CPPUNIT_TEST_SUITE_END();

  static constexpr std::uint32_t kMaxAttempts = 3;

  DatabaseUnderTest database_;
  testkit::RealClock clock_;
  testkit::SeededRandom random_{1};
  testkit::RecordingLogger logger_;
  SqlTransport transport_{kQuickSettings, database_.get(), clock_, random_, logger_};
  const QueueName queue_{"work"};

 public:
  void setUp() override { CPPUNIT_ASSERT(transport_.declare({{{queue_, {"key"}, kMaxAttempts}}}).ok()); }

 private:
  void publish(int count, int deadly) {
    std::vector<Message> batch;
    for (int i = 0; i < count; ++i) {
      batch.push_back(
          {EventId("m-" + std::to_string(i)), "key", i == deadly ? "\"kill\"" : "\"harmless\"", "", 0ms});
    }
    for (const auto& answer : transport_.publish(batch, Deadline::max())) {
      CPPUNIT_ASSERT(answer.outcome == PublishOutcome::Confirmed);
    }
  }

  // Runs a consumer until it ends or dies; its exit status.
  int consume() {
    std::string program = PENSTOCK_MORTAL_CONSUMER;
    std::string file = database_.file().string();
    char* arguments[] = {program.data(), file.data(), nullptr};
    pid_t pid = 0;
    CPPUNIT_ASSERT_EQUAL(0, posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environ));
    int status = 0;
    CPPUNIT_ASSERT_EQUAL(pid, waitpid(pid, &status, 0));
    CPPUNIT_ASSERT(WIFEXITED(status));
    return WEXITSTATUS(status);
  }

  void message_that_kills_its_process_is_parked_without_its_neighbours() {
    // One poisonous message must not keep the service down, nor take a whole batch to the dead letters.
    publish(20, 7);
    std::uint32_t deaths = 0;
    while (consume() == 137) {
      CPPUNIT_ASSERT_MESSAGE("it keeps killing its process", ++deaths <= kMaxAttempts);
    }
    CPPUNIT_ASSERT_EQUAL(kMaxAttempts, deaths);
    const auto letters = *transport_.list(queue_, 10);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), letters.size());
    CPPUNIT_ASSERT_EQUAL(std::string("m-7"), letters[0].id.str());
    CPPUNIT_ASSERT_EQUAL(kMaxAttempts, letters[0].attempts);
    CPPUNIT_ASSERT_MESSAGE(letters[0].reason, letters[0].reason.find("died") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), transport_.depth(queue_)->ready);
  }

  void message_of_a_killed_process_is_delivered_again() {
    // What a dead process had in hand must reach the next one, after its lease.
    publish(1, 0);
    CPPUNIT_ASSERT_EQUAL(137, consume());
    std::atomic<std::uint32_t> attempt{0};
    const auto subscription =
        transport_.subscribe({.queue = queue_}, [&](std::span<const Delivery> deliveries) {
          attempt = deliveries[0].attempt;
          return std::vector<Settlement>(deliveries.size(), Done{});
        });
    CPPUNIT_ASSERT(subscription.ok());
    CPPUNIT_ASSERT(testkit::wait_until([&] { return attempt > 0; }));
    CPPUNIT_ASSERT((*subscription)->stop(Deadline::max()).ok());
    CPPUNIT_ASSERT_EQUAL(std::uint32_t(2), attempt.load());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CrashTest);

}  // namespace penstock::transport_sql
