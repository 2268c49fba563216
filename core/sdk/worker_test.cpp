#include "penstock/worker.hpp"

#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <stdexcept>

namespace penstock {

class WorkerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(WorkerTest);
  CPPUNIT_TEST(wake_runs_the_step_at_once);
  CPPUNIT_TEST(a_failing_step_backs_off_and_is_tried_again);
  CPPUNIT_TEST(a_throwing_step_does_not_end_the_worker);
  CPPUNIT_TEST(stop_waits_for_the_running_step_up_to_its_deadline);
  CPPUNIT_TEST_SUITE_END();

 public:
  void wake_runs_the_step_at_once() {
    // Polling is only the net: a commit must not wait for the poll interval.
    std::atomic<int> steps = 0;
    Worker worker({.name = "test"}, logger_, [&]() -> Result<Milliseconds> {
      ++steps;
      return Milliseconds(std::chrono::hours(1));
    });
    CPPUNIT_ASSERT(testkit::wait_until([&] { return steps == 1; }));
    worker.wake();
    CPPUNIT_ASSERT(testkit::wait_until([&] { return steps == 2; }));
  }

  void a_failing_step_backs_off_and_is_tried_again() {
    // A database that is away must be neither given up nor hammered.
    std::atomic<int> steps = 0;
    const auto begin = std::chrono::steady_clock::now();
    Worker worker({.name = "test", .first_back_off = Milliseconds(10), .max_back_off = Milliseconds(40)},
                  logger_, [&]() -> Result<Milliseconds> {
                    ++steps;
                    return Error{ErrorCode::Unavailable, "the database is away"};
                  });
    CPPUNIT_ASSERT(testkit::wait_until([&] { return steps == 4; }));
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - begin >= Milliseconds(10 + 20 + 40));
    CPPUNIT_ASSERT(logger_.contains("the database is away"));
    CPPUNIT_ASSERT_EQUAL_MESSAGE("repeats are limited", std::size_t{1}, logger_.lines().size());
  }

  void a_throwing_step_does_not_end_the_worker() {
    // One bad row must not stop a stage for good.
    std::atomic<int> steps = 0;
    Worker worker({.name = "test", .first_back_off = Milliseconds(1)}, logger_,
                  [&]() -> Result<Milliseconds> {
                    if (++steps == 1) throw std::runtime_error("first step");
                    return Milliseconds(1);
                  });
    CPPUNIT_ASSERT(testkit::wait_until([&] { return steps >= 3; }));
  }

  void stop_waits_for_the_running_step_up_to_its_deadline() {
    // A drain must finish work in hand, and must not hang with it.
    std::atomic<bool> entered = false;
    std::atomic<bool> leave = false;
    Worker worker({.name = "test"}, logger_, [&]() -> Result<Milliseconds> {
      entered = true;
      testkit::wait_until([&] { return leave.load(); });
      return Milliseconds(0);
    });
    CPPUNIT_ASSERT(testkit::wait_until([&] { return entered.load(); }));
    CPPUNIT_ASSERT(!worker.stop(std::chrono::steady_clock::now() + Milliseconds(20)));
    CPPUNIT_ASSERT(worker.stopping());
    leave = true;
    CPPUNIT_ASSERT(worker.stop(std::chrono::steady_clock::now() + std::chrono::seconds(10)));
  }

 private:
  testkit::RecordingLogger logger_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(WorkerTest);

}  // namespace penstock
