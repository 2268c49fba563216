#include "penstock/lane.hpp"

#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <future>
#include <stdexcept>

namespace penstock {

class LaneTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LaneTest);
  CPPUNIT_TEST(an_idle_lane_works_on_a_batch_of_one);
  CPPUNIT_TEST(what_arrives_during_a_batch_becomes_the_next_batch);
  CPPUNIT_TEST(a_full_queue_refuses_and_counts);
  CPPUNIT_TEST(an_exception_fails_its_batch_and_not_the_next);
  CPPUNIT_TEST(drain_finishes_what_is_queued_and_refuses_new);
  CPPUNIT_TEST(drain_past_its_deadline_closes_what_is_queued);
  CPPUNIT_TEST_SUITE_END();

  using IntLane = Lane<int, int>;

  // Blocks the first batch until released, so that a test decides what arrives meanwhile.
  struct Gate {
    std::promise<void> open;
    std::shared_future<void> opened = open.get_future().share();
    std::atomic<bool> entered = false;
    std::atomic<int> batches = 0;

    std::vector<Result<int>> work(std::span<int> batch) {
      entered = true;
      if (batches++ == 0) opened.wait();
      std::vector<Result<int>> answers;
      for (const int item : batch) answers.emplace_back(item * 2);
      return answers;
    }
  };

 public:
  void an_idle_lane_works_on_a_batch_of_one() {
    // No timer: a single buyer waits for nobody.
    IntLane lane({.stage = "test"}, metrics_, double_each);
    std::promise<int> answer;
    CPPUNIT_ASSERT(lane.submit(21, [&](Result<int> result) { answer.set_value(*result); }));
    CPPUNIT_ASSERT_EQUAL(42, answer.get_future().get());
    CPPUNIT_ASSERT_EQUAL(1.0, metrics_.value(kBatchSize));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics_.sum(kBatchSize));
  }

  void what_arrives_during_a_batch_becomes_the_next_batch() {
    // This is what turns five hundred requests into one commit.
    Gate gate;
    std::atomic<int> sum = 0;
    IntLane lane({.stage = "test", .max_batch = 500}, metrics_,
                 [&](std::span<int> b) { return gate.work(b); });
    submit(lane, 1, sum);
    CPPUNIT_ASSERT(testkit::wait_until([&] { return gate.entered.load(); }));
    for (int i = 0; i < 300; ++i) submit(lane, 1, sum);
    CPPUNIT_ASSERT_EQUAL(std::size_t{300}, lane.queued());
    gate.open.set_value();
    CPPUNIT_ASSERT(testkit::wait_until([&] { return sum == 602; }));
    CPPUNIT_ASSERT_EQUAL(2, gate.batches.load());
  }

  void a_full_queue_refuses_and_counts() {
    // Back-pressure: memory stays flat and the client hears 503 at once.
    Gate gate;
    std::atomic<int> sum = 0;
    IntLane lane({.stage = "test", .max_batch = 2, .max_queue = 3}, metrics_,
                 [&](std::span<int> b) { return gate.work(b); });
    submit(lane, 1, sum);
    CPPUNIT_ASSERT(testkit::wait_until([&] { return gate.entered.load(); }));
    for (int i = 0; i < 3; ++i) submit(lane, 1, sum);
    CPPUNIT_ASSERT(!lane.submit(1, [](Result<int>) { CPPUNIT_FAIL("a refused request was completed"); }));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics_.value("penstock_lane_rejected_total{stage=\"test\"}"));
    gate.open.set_value();
    CPPUNIT_ASSERT(testkit::wait_until([&] { return sum == 8; }));
    CPPUNIT_ASSERT_EQUAL_MESSAGE("batches of 1, 2 and 1", 3, gate.batches.load());
  }

  void an_exception_fails_its_batch_and_not_the_next() {
    // A lane that died would hang every later client.
    std::atomic<int> calls = 0;
    IntLane lane({.stage = "test"}, metrics_, [&](std::span<int> batch) {
      if (calls++ == 0) throw std::runtime_error("broken once");
      return double_each(batch);
    });
    const auto first = ask(lane, 1);
    CPPUNIT_ASSERT(!first.ok());
    CPPUNIT_ASSERT(first.error().code == ErrorCode::Internal);
    CPPUNIT_ASSERT(first.error().message.find("broken once") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(4, *ask(lane, 2));
  }

  void drain_finishes_what_is_queued_and_refuses_new() {
    // SIGTERM under load: what was taken in is answered.
    std::atomic<int> sum = 0;
    IntLane lane({.stage = "test", .max_batch = 10}, metrics_, double_each);
    for (int i = 0; i < 1'000; ++i) submit(lane, 1, sum);
    lane.drain(Deadline::max());
    CPPUNIT_ASSERT_EQUAL(2'000, sum.load());
    CPPUNIT_ASSERT(!lane.submit(1, [](Result<int>) {}));
  }

  void drain_past_its_deadline_closes_what_is_queued() {
    // The batch in hand is finished, the rest is told that nothing happened.
    Gate gate;
    std::atomic<int> sum = 0;
    std::atomic<int> closed = 0;
    IntLane lane({.stage = "test", .max_batch = 1}, metrics_, [&](std::span<int> b) { return gate.work(b); });
    submit(lane, 1, sum);
    CPPUNIT_ASSERT(testkit::wait_until([&] { return gate.entered.load(); }));
    CPPUNIT_ASSERT(
        lane.submit(1, [&](Result<int> r) { closed += !r.ok() && r.error().code == ErrorCode::Closed; }));
    std::thread opener([&] {
      testkit::wait_until([&] { return closed == 1; });
      gate.open.set_value();
    });
    lane.drain(std::chrono::steady_clock::now() + Milliseconds(20));
    opener.join();
    CPPUNIT_ASSERT_EQUAL(1, closed.load());
    CPPUNIT_ASSERT_EQUAL(2, sum.load());
  }

 private:
  static constexpr std::string_view kBatchSize = "penstock_batch_size{stage=\"test\"}";

  static std::vector<Result<int>> double_each(std::span<int> batch) {
    std::vector<Result<int>> answers;
    for (const int item : batch) answers.emplace_back(item * 2);
    return answers;
  }

  static void submit(IntLane& lane, int item, std::atomic<int>& sum) {
    CPPUNIT_ASSERT(lane.submit(item, [&sum](Result<int> result) { sum += *result; }));
  }

  static Result<int> ask(IntLane& lane, int item) {
    std::promise<Result<int>> answer;
    CPPUNIT_ASSERT(lane.submit(item, [&](Result<int> result) { answer.set_value(std::move(result)); }));
    return answer.get_future().get();
  }

  testkit::RecordingMetrics metrics_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(LaneTest);

}  // namespace penstock
