#include "penstock/queue_consumer.hpp"

#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_transport.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace {

using namespace penstock;
using testkit::wait_until;

class QueueConsumerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(QueueConsumerTest);
  CPPUNIT_TEST(keeps_trying_until_the_queue_is_declared);
  CPPUNIT_TEST(stop_ends_the_subscription);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeContext context_;
  testkit::FakeTransport transport_;
  const QueueName queue_{"q"};

  static std::vector<Settlement> settle_all(std::span<const Delivery> deliveries) {
    return std::vector<Settlement>(deliveries.size(), Done{});
  }

 public:
  void keeps_trying_until_the_queue_is_declared() {
    // Plugins start in any order: a queue that is not there yet is no reason to give up.
    std::atomic<bool> declared{false};
    transport_.on_subscribe = [&](const QueueName&) -> Result<void> {
      if (declared) return {};
      return Error{ErrorCode::NotFound, "queue q was never declared"};
    };
    QueueConsumer consumer(context_, transport_, {.queue = queue_}, settle_all);
    CPPUNIT_ASSERT(wait_until([&] { return context_.health().state("q") == "queue q was never declared"; }));
    CPPUNIT_ASSERT(!context_.logger().contains("worker_step_failed"));
    declared = true;
    CPPUNIT_ASSERT(wait_until([&] { return context_.health().state("q").empty(); }));
    CPPUNIT_ASSERT(transport_.subscribed(queue_));
    CPPUNIT_ASSERT(consumer.stop(std::chrono::steady_clock::now() + std::chrono::seconds(5)).ok());
  }

  void stop_ends_the_subscription() {
    // After stop no handler may run: the objects behind it are being destroyed.
    QueueConsumer consumer(context_, transport_, {.queue = queue_}, settle_all);
    CPPUNIT_ASSERT(wait_until([&] { return transport_.subscribed(queue_); }));
    CPPUNIT_ASSERT(consumer.stop(std::chrono::steady_clock::now() + std::chrono::seconds(5)).ok());
    CPPUNIT_ASSERT(!transport_.subscribed(queue_));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(QueueConsumerTest);

}  // namespace
