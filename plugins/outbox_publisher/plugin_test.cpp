#include "penstock/testkit/fake_order_store.hpp"
#include "penstock/testkit/fake_transport.hpp"
#include "penstock/testkit/plugin_under_test.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace {

using namespace penstock;
using namespace penstock::orders;
using testkit::wait_until;

class PluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginTest);
  CPPUNIT_TEST(a_commit_wakes_the_publisher);
  CPPUNIT_TEST(a_transport_that_is_away_is_waited_for);
  CPPUNIT_TEST(queues_with_other_settings_refuse_the_start);
  CPPUNIT_TEST(a_lease_shorter_than_a_publish_is_refused);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeOrderStore store_;
  testkit::FakeTransport transport_;
  testkit::PluginUnderTest plugin_;
  std::atomic<int> rows_{0};

 public:
  void setUp() override {
    store_.on_lease = [this](std::size_t) {
      OutboxLease lease;
      for (int left = rows_.exchange(0); left > 0; --left) {
        lease.events.push_back({EventId("e" + std::to_string(left)), "order.created", {}, "{}", "", 0, {}});
      }
      return lease;
    };
    plugin_.context().services().provide<OrderStore>(store_);
    plugin_.context().services().provide<Transport>(transport_);
  }

  void a_commit_wakes_the_publisher() {
    // Polling alone would add its interval to every order.
    plugin_.context().config().set("poll_ms", "60000");
    CPPUNIT_ASSERT(plugin_.configure().ok());
    CPPUNIT_ASSERT(plugin_.start().ok());
    CPPUNIT_ASSERT(wait_until([&] { return store_.leases() == 1; }));
    rows_ = 3;
    store_.wake_outbox();
    CPPUNIT_ASSERT(wait_until([&] { return store_.marks().size() == 3; }));
    CPPUNIT_ASSERT(plugin_.stop().ok());
    const auto leases = store_.leases();
    store_.wake_outbox();
    CPPUNIT_ASSERT_EQUAL(leases, store_.leases());
  }

  void a_transport_that_is_away_is_waited_for() {
    // Intake must start while the broker is down: the outbox keeps what it cannot send.
    std::atomic<bool> away{true};
    transport_.on_declare = [&](const Topology&) -> Result<void> {
      if (away) return Error{ErrorCode::Unavailable, "connection refused"};
      return {};
    };
    CPPUNIT_ASSERT(plugin_.configure().ok());
    CPPUNIT_ASSERT(plugin_.start().ok());
    CPPUNIT_ASSERT_EQUAL(std::string("queues not declared: connection refused"),
                         plugin_.context().health().state("transport"));
    away = false;
    rows_ = 1;
    CPPUNIT_ASSERT(wait_until([&] { return store_.marks().size() == 1; }));
    CPPUNIT_ASSERT_EQUAL(std::string(), plugin_.context().health().state("transport"));
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }

  void queues_with_other_settings_refuse_the_start() {
    // Trying again cannot mend it, and a running process would hide it.
    transport_.on_declare = [](const Topology&) -> Result<void> {
      return Error{ErrorCode::Conflict, "queue q: max_attempts is 5, wanted 30"};
    };
    CPPUNIT_ASSERT(plugin_.configure().ok());
    const auto started = plugin_.start();
    CPPUNIT_ASSERT(!started.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("queue q: max_attempts is 5, wanted 30"), started.error().message);
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }

  void a_lease_shorter_than_a_publish_is_refused() {
    // Otherwise a slow publish always ends in somebody else's lease, and everything goes out twice.
    plugin_.context().config().set("lease_ms", "10000");
    const auto configured = plugin_.configure();
    CPPUNIT_ASSERT(!configured.ok());
    CPPUNIT_ASSERT(configured.error().message.find("outbox_publisher.publish_timeout_ms, which is 10000") !=
                   std::string::npos);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginTest);

}  // namespace
