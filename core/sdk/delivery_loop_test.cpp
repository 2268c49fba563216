#include "penstock/delivery_loop.hpp"

#include "penstock/message_check.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <deque>
#include <stdexcept>

namespace penstock {

using namespace std::chrono_literals;

// Gives out what the test put in, and keeps what came back.
class ScriptedSource : public DeliverySource {
 public:
  Result<LeasedBatch> exchange(const std::optional<SettledBatch>& settled, std::size_t max_next) override {
    const std::lock_guard lock(mutex_);
    if (failures_ > 0) {
      --failures_;
      return Error{ErrorCode::Unavailable, "storage away"};
    }
    if (settled) settled_.push_back(*settled);
    if (max_next == 0 || batches_.empty()) return LeasedBatch{};
    auto next = std::move(batches_.front());
    batches_.pop_front();
    return next;
  }
  Result<void> hand_back(const LeaseToken& token) override {
    const std::lock_guard lock(mutex_);
    handed_back_.push_back(token.str());
    return {};
  }

  void add(const std::string& token, std::vector<std::uint32_t> attempts) {
    LeasedBatch batch{LeaseToken(token), {}, {}, {}};
    for (const auto attempt : attempts) {
      batch.keys.push_back(static_cast<std::int64_t>(batch.keys.size()));
      batch.deliveries.push_back(
          {EventId(token + std::to_string(batch.keys.size())), "key", "{}", "", attempt, {}});
    }
    const std::lock_guard lock(mutex_);
    batches_.push_back(std::move(batch));
  }
  void fail_next(int times) {
    const std::lock_guard lock(mutex_);
    failures_ = times;
  }
  std::vector<SettledBatch> settled() const {
    const std::lock_guard lock(mutex_);
    return settled_;
  }
  std::vector<std::string> handed_back() const {
    const std::lock_guard lock(mutex_);
    return handed_back_;
  }

 private:
  mutable std::mutex mutex_;
  int failures_ = 0;
  std::deque<LeasedBatch> batches_;
  std::vector<SettledBatch> settled_;
  std::vector<std::string> handed_back_;
};

class DeliveryLoopTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DeliveryLoopTest);
  CPPUNIT_TEST(settlement_is_repeated_until_the_storage_takes_it);
  CPPUNIT_TEST(retry_within_the_bound_is_passed_on_and_beyond_it_parks);
  CPPUNIT_TEST(failed_batch_is_retried_one_by_one_and_never_parked);
  CPPUNIT_TEST(failed_single_delivery_is_parked_at_the_bound);
  CPPUNIT_TEST(stop_hands_back_what_was_not_begun);
  CPPUNIT_TEST(only_well_formed_utf8_is_storable);
  CPPUNIT_TEST_SUITE_END();

  testkit::RecordingLogger logger_;
  testkit::SeededRandom random_{1};
  ScriptedSource* source_ = nullptr;
  std::shared_ptr<WakeUp> wake_up_ = std::make_shared<WakeUp>();

  std::unique_ptr<DeliveryLoop> loop(DeliveryHandler handler, std::function<void(ScriptedSource&)> prepare) {
    auto source = std::make_unique<ScriptedSource>();
    source_ = source.get();
    prepare(*source);
    DeliveryLoopSettings settings{.queue = "work", .max_attempts = 3, .poll = 20ms, .back_off = {5ms, 10ms}};
    return std::make_unique<DeliveryLoop>(settings, std::move(source), wake_up_, std::move(handler), logger_,
                                          random_);
  }
  std::vector<Verdict> verdicts_of_first_batch() {
    CPPUNIT_ASSERT(testkit::wait_until([&] { return !source_->settled().empty(); }));
    return source_->settled()[0].verdicts;
  }
  static DeliveryHandler settle_all(Settlement settlement) {
    return [settlement](std::span<const Delivery> batch) {
      return std::vector<Settlement>(batch.size(), settlement);
    };
  }

  void settlement_is_repeated_until_the_storage_takes_it() {
    // The work is done; forgetting to say so because the storage was away would do it twice.
    const auto running = loop(
        [this](std::span<const Delivery> batch) {
          source_->fail_next(3);
          return std::vector<Settlement>(batch.size(), Done{});
        },
        [](ScriptedSource& source) {
          source.add("a", {1, 1});
        });
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), verdicts_of_first_batch().size());
    CPPUNIT_ASSERT(running->stop(Deadline::max()).ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), source_->settled().size());
    CPPUNIT_ASSERT(logger_.contains("storage away"));
  }

  void retry_within_the_bound_is_passed_on_and_beyond_it_parks() {
    // The bound is the queue's, not the handler's.
    const auto running = loop(settle_all(RetryLater{70ms, "busy"}), [](ScriptedSource& source) {
      source.add("a", {1, 2, 3});
    });
    const auto verdicts = verdicts_of_first_batch();
    CPPUNIT_ASSERT(verdicts[0].kind == VerdictKind::Retry && verdicts[0].after == 70ms);
    CPPUNIT_ASSERT(verdicts[1].kind == VerdictKind::Retry);
    CPPUNIT_ASSERT(verdicts[2].kind == VerdictKind::Dead);
    CPPUNIT_ASSERT(verdicts[2].reason.find("busy") != std::string::npos);
    CPPUNIT_ASSERT(running->stop(Deadline::max()).ok());
  }

  void failed_batch_is_retried_one_by_one_and_never_parked() {
    // Nobody knows which of them did it, so none of them may pay for it.
    const auto running =
        loop([](std::span<const Delivery>) -> std::vector<Settlement> { throw std::runtime_error("x"); },
             [](ScriptedSource& source) {
               source.add("a", {1, 3});
             });
    for (const auto& verdict : verdicts_of_first_batch())
      CPPUNIT_ASSERT(verdict.kind == VerdictKind::RetryAlone);
    CPPUNIT_ASSERT(running->stop(Deadline::max()).ok());
  }

  void failed_single_delivery_is_parked_at_the_bound() {
    // Alone there is no doubt, also when what was thrown is no exception class.
    const auto running = loop([](std::span<const Delivery>) -> std::vector<Settlement> { throw 42; },
                              [](ScriptedSource& source) { source.add("a", {3}); });
    const auto verdicts = verdicts_of_first_batch();
    CPPUNIT_ASSERT(verdicts[0].kind == VerdictKind::Dead);
    CPPUNIT_ASSERT(verdicts[0].reason.find("no std::exception") != std::string::npos);
    CPPUNIT_ASSERT(running->stop(Deadline::max()).ok());
  }

  void stop_hands_back_what_was_not_begun() {
    // A lease that arrives during the shutdown must not wait for its end, nor call the handler.
    std::atomic<int> calls{0};
    std::unique_ptr<DeliveryLoop> running;
    running = loop(
        [&](std::span<const Delivery> batch) {
          ++calls;
          source_->add("late", {1});
          static_cast<void>(running->stop(std::chrono::steady_clock::now()));  // a deadline that has passed
          return std::vector<Settlement>(batch.size(), Done{});
        },
        [](ScriptedSource&) {});
    source_->add("first", {1});
    CPPUNIT_ASSERT(testkit::wait_until([&] { return calls == 1; }));
    CPPUNIT_ASSERT(running->stop(Deadline::max()).ok());
    CPPUNIT_ASSERT_EQUAL(1, calls.load());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), source_->handed_back().size());
    CPPUNIT_ASSERT_EQUAL(std::string("first"), source_->handed_back()[0]);
    CPPUNIT_ASSERT(source_->settled().empty());
  }

  void only_well_formed_utf8_is_storable() {
    // Engines differ in what they do with broken text; none of them gets any.
    for (const auto* good :
         {"", "plain", "h\xC3\xA9", "\xE2\x98\x83", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
      CPPUNIT_ASSERT_MESSAGE(good, is_storable_text(good));
    }
    for (const auto* bad : {"\x80", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xEF\xBF",
                            "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
      CPPUNIT_ASSERT(!is_storable_text(bad));
    }
    CPPUNIT_ASSERT(!is_storable_text(std::string_view("a\0b", 3)));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DeliveryLoopTest);

}  // namespace penstock
