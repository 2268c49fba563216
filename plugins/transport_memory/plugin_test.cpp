#include "penstock/testkit/plugin_under_test.hpp"
#include "penstock/transport.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace penstock::transport_memory {

class PluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginTest);
  CPPUNIT_TEST(start_says_that_nothing_is_durable);
  CPPUNIT_TEST(full_queue_refuses);
  CPPUNIT_TEST_SUITE_END();

  testkit::PluginUnderTest plugin_;

  void start_says_that_nothing_is_durable() {
    // Nobody may run orders on this by mistake and learn of it from a restart.
    CPPUNIT_ASSERT(plugin_.configure().ok());
    CPPUNIT_ASSERT(plugin_.start().ok());
    CPPUNIT_ASSERT(plugin_.context().logger().contains("warn transport_not_durable"));
    const auto traits = plugin_.context().services().require<Transport>().traits();
    CPPUNIT_ASSERT(!traits.durable && !traits.survives_restart);
    CPPUNIT_ASSERT(plugin_.context().services().require<DeadLetters>().list(QueueName("x"), 1).error().code ==
                   ErrorCode::NotFound);
    CPPUNIT_ASSERT(plugin_.stop().ok());
  }

  void full_queue_refuses() {
    // Memory is bounded; who publishes must hear of it and keep the message.
    plugin_.context().config().set("max_queue_messages", "2");
    CPPUNIT_ASSERT(plugin_.configure().ok());
    auto& transport = plugin_.context().services().require<Transport>();
    CPPUNIT_ASSERT(transport.declare({{{QueueName("work"), {"key"}, 5}}}).ok());
    std::vector<Message> batch;
    for (const auto* id : {"1", "2", "3"}) batch.push_back({EventId(id), "key", "{}", "", {}});
    const auto answers = transport.publish(batch, Deadline::max());
    CPPUNIT_ASSERT(answers[1].outcome == PublishOutcome::Confirmed);
    CPPUNIT_ASSERT(answers[2].outcome == PublishOutcome::Refused);
    CPPUNIT_ASSERT(answers[2].detail.find("work is full") != std::string::npos);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginTest);

}  // namespace penstock::transport_memory
