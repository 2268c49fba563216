#include "penstock/orders/order_no.hpp"

#include "penstock/testkit/fake_context.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <set>
#include <thread>

namespace penstock::orders {

class OrderNoTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OrderNoTest);
  CPPUNIT_TEST(numbers_sort_by_time);
  CPPUNIT_TEST(a_clock_stepped_back_makes_no_duplicate_and_no_older_number);
  CPPUNIT_TEST(many_threads_never_share_a_number);
  CPPUNIT_TEST_SUITE_END();

 public:
  void numbers_sort_by_time() {
    // Time-ordered keys keep new rows together on disk.
    testkit::ManualClock clock;
    testkit::SeededRandom random(1);
    OrderNoGenerator generator(clock, random);
    auto previous = generator.next();
    CPPUNIT_ASSERT_EQUAL(std::size_t{26}, previous.str().size());
    CPPUNIT_ASSERT(is_valid_id(previous.str()));
    for (int i = 0; i < 100; ++i) {
      clock.advance(Milliseconds(1));
      auto next = generator.next();
      CPPUNIT_ASSERT(previous < next);
      previous = std::move(next);
    }
  }

  void a_clock_stepped_back_makes_no_duplicate_and_no_older_number() {
    // Time servers step clocks; a number made twice would merge two orders.
    testkit::ManualClock clock;
    testkit::SeededRandom random(1);
    OrderNoGenerator generator(clock, random);
    const auto before = generator.next().str().substr(0, 10);
    clock.advance(-std::chrono::hours(1));
    std::set<OrderNo> seen;
    for (int i = 0; i < 10'000; ++i) {
      auto number = generator.next();
      CPPUNIT_ASSERT(number.str().substr(0, 10) >= before);
      CPPUNIT_ASSERT(seen.insert(std::move(number)).second);
    }
  }

  void many_threads_never_share_a_number() {
    // Requests are numbered on several threads at once.
    testkit::ManualClock clock;
    testkit::SeededRandom random(1);
    OrderNoGenerator generator(clock, random);
    std::mutex mutex;
    std::set<OrderNo> seen;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2'000; ++i) {
          auto number = generator.next();
          const std::lock_guard lock(mutex);
          seen.insert(std::move(number));
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CPPUNIT_ASSERT_EQUAL(std::size_t{8'000}, seen.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OrderNoTest);

}  // namespace penstock::orders
