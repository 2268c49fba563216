// Every window of the pipeline there is: the process dies in it, fails in it or hangs in it, under load.
#include "reckoning.hpp"

#include "penstock/fail_point.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <signal.h>

namespace penstock::fault_test {
namespace {

constexpr int kKilledByFailPoint = 137;
constexpr std::int64_t kUnits = 60;
constexpr std::size_t kBuyers = 120;

// How a point is armed so that the crowd gets there. The second pass, not the first: then the first batch
// stands on the other side of the window.
std::string armed(std::string_view point, const std::string& action) {
  const std::string name(point);
  if (name == "reconciler.mid_rebuild" || name == "timeout.after_expire") return name + "=" + action + "@1";
  // An orphan needs an accept that takes longer than the reconciler's grace.
  if (name == "reconciler.after_abandon")
    return "intake.after_reserve=delay:3000@2," + name + "=" + action + "@1";
  return name + "=" + action + "@2";
}

// One test per fail point, made from the list itself, so that a new window cannot be forgotten.
class KillTest : public CppUnit::TestCase {
 public:
  explicit KillTest(std::string_view point)
      : CppUnit::TestCase("killed_in_" + std::string(point)), point_(point) {}

  void runTest() override {
    // Whatever was half done in this window must be finished or undone by the next process, once.
    const Shop shop("p," + std::to_string(kUnits) + ",1");
    auto server = shop.launch(armed(point_, "kill"));
    Crowd crowd(crowd_of(kBuyers, shop.buyers_door(), "p"));
    CPPUNIT_ASSERT_EQUAL_MESSAGE(server->log(), kKilledByFailPoint, server->wait_exit());
    server = shop.open();
    reckon(shop, *server, crowd, "p", kUnits);
    server->terminate();
  }

 private:
  const std::string_view point_;
};

class FailPointsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FailPointsTest);
  CPPUNIT_TEST_SUITE_ADD_CUSTOM_TESTS(add_one_kill_per_point);
  CPPUNIT_TEST(a_failure_in_every_window_is_recovered_without_a_restart);
  CPPUNIT_TEST(hanging_with_rows_written_and_uncommitted);
  CPPUNIT_TEST(hanging_with_messages_published_and_unmarked);
  CPPUNIT_TEST(hanging_with_stock_locked_and_uncommitted);
  CPPUNIT_TEST(hanging_with_a_delivery_released_and_unsettled);
  CPPUNIT_TEST_SUITE_END();

  static void add_one_kill_per_point(TestSuiteBuilderContextType& context) {
    for (const auto point : fail_point::kNames) context.addTest(new KillTest(point));
  }

  // A process that hangs is killed by whoever watches it; the next one must not need its cooperation.
  static void hang_in(const std::string& point) {
    const Shop shop("p," + std::to_string(kUnits) + ",1");
    auto server = shop.launch(armed(point, "hang"));
    Crowd crowd(crowd_of(kBuyers, shop.buyers_door(), "p"));
    crowd.wait_stuck();
    server->kill();
    server = shop.open();
    reckon(shop, *server, crowd, "p", kUnits);
    server->terminate();
  }

 public:
  void a_failure_in_every_window_is_recovered_without_a_restart() {
    // A dependency that fails now and then must cost time, not orders.
    const Shop shop("p," + std::to_string(kUnits) + ",1");
    std::string points;
    for (const auto point : fail_point::kNames) {
      points += (points.empty() ? "" : ",") + armed(point, "fail");
      if (point != "reconciler.after_abandon") points += "," + std::string(point) + "=fail@4";
    }
    const auto server = shop.launch(points);
    Crowd crowd(crowd_of(kBuyers, shop.buyers_door(), "p"));
    server->wait_ready();
    reckon(shop, *server, crowd, "p", kUnits);
    server->terminate();
  }

  // The four kinds of thing a hung process can sit on: the database's write lock with orders or with stock,
  // an outbox lease, a delivery.
  void hanging_with_rows_written_and_uncommitted() { hang_in("store.accept.in_transaction"); }
  void hanging_with_messages_published_and_unmarked() { hang_in("outbox.after_publish"); }
  void hanging_with_stock_locked_and_uncommitted() { hang_in("store.lock.in_transaction"); }
  void hanging_with_a_delivery_released_and_unsettled() { hang_in("gate.after_release"); }
};

CPPUNIT_TEST_SUITE_REGISTRATION(FailPointsTest);

}  // namespace
}  // namespace penstock::fault_test
