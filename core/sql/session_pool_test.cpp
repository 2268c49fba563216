#include "sql/session_pool.hpp"

#include "penstock/testkit/temp_dir.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <thread>

namespace penstock::sql {

class SessionPoolTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SessionPoolTest);
  CPPUNIT_TEST(waiters_are_served_in_the_order_of_asking);
  CPPUNIT_TEST(a_broken_session_is_replaced_and_its_place_is_kept);
  CPPUNIT_TEST(a_waiter_that_gave_up_is_not_given_a_session);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override { settings_.path = dir_.path() / "pool.db"; }

  void waiters_are_served_in_the_order_of_asking() {
    // Under load an unfair queue would let one batch wait until its deadline.
    SessionPool pool(sqlite_dialect(), settings_, 1);
    auto first = pool.acquire();
    std::mutex mutex;
    std::vector<int> order;
    std::vector<std::thread> threads;
    for (int i = 0; i < 5; ++i) {
      std::atomic<bool> asking = false;
      threads.emplace_back([&, i] {
        asking = true;
        const auto lease = pool.acquire();
        const std::scoped_lock lock(mutex);
        order.push_back(i);
      });
      CPPUNIT_ASSERT(testkit::wait_until([&] { return asking && pool.waiting() == std::size_t(i) + 1; }));
    }
    first.reset();
    for (auto& thread : threads) thread.join();
    CPPUNIT_ASSERT((order == std::vector<int>{0, 1, 2, 3, 4}));
  }

  void a_broken_session_is_replaced_and_its_place_is_kept() {
    // A pool that hands out dead sessions, or shrinks with each failure, ends the service.
    SessionPool pool(sqlite_dialect(), settings_, 1);
    {
      const auto lease = pool.acquire();
      lease->session().begin("BEGIN IMMEDIATE");
      lease->session().run("COMMIT", {}, {});  // behind the session's back, so its rollback fails
      lease->session().rollback();
      CPPUNIT_ASSERT(lease->session().broken());
    }
    const auto lease = pool.acquire();
    CPPUNIT_ASSERT(lease);
    CPPUNIT_ASSERT(!lease->session().broken());
  }

  void a_waiter_that_gave_up_is_not_given_a_session() {
    // A session handed to nobody would be lost for good.
    settings_.session_wait = Milliseconds(5);
    SessionPool pool(sqlite_dialect(), settings_, 1);
    auto first = pool.acquire();
    CPPUNIT_ASSERT(!pool.acquire());
    first.reset();
    CPPUNIT_ASSERT(pool.acquire());
  }

 private:
  testkit::TempDir dir_;
  Settings settings_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(SessionPoolTest);

}  // namespace penstock::sql
