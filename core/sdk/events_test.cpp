#include "penstock/orders/events.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>

namespace penstock::orders {

class EventsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(EventsTest);
  CPPUNIT_TEST(what_is_encoded_is_decoded_digit_for_digit);
  CPPUNIT_TEST(one_fact_has_one_id);
  CPPUNIT_TEST(a_bad_body_is_refused_with_its_field);
  CPPUNIT_TEST(every_event_type_has_a_queue);
  CPPUNIT_TEST_SUITE_END();

 public:
  void what_is_encoded_is_decoded_digit_for_digit() {
    // A product id above 2^53 must survive the transport.
    const OrderNo no("01HZX3VQ4R5T6Y7W8Z9A0B1C2D");
    const OrderEvent event{event_id(kOrderCreated, no),
                           std::string(kOrderCreated),
                           no,
                           {{Sku("9007199254740993"), 3}, {Sku("shoe.red-42"), 1}}};
    const auto decoded = decode(encode(event));
    CPPUNIT_ASSERT(decoded.ok());
    CPPUNIT_ASSERT(decoded->id == event.id);
    CPPUNIT_ASSERT(decoded->order_no == event.order_no);
    CPPUNIT_ASSERT(decoded->type == event.type);
    CPPUNIT_ASSERT(decoded->lines == event.lines);
  }

  void one_fact_has_one_id() {
    // Consumers drop repeats by this id, so it must not differ between two tellings of one fact.
    CPPUNIT_ASSERT(event_id(kOrderPaid, OrderNo("A")) == event_id(kOrderPaid, OrderNo("A")));
    CPPUNIT_ASSERT(event_id(kOrderPaid, OrderNo("A")) != event_id(kOrderReleased, OrderNo("A")));
    CPPUNIT_ASSERT(event_id(kOrderPaid, OrderNo("A")) != event_id(kOrderPaid, OrderNo("B")));
  }

  void a_bad_body_is_refused_with_its_field() {
    // A parked message is read by a person, who must see what is wrong with it.
    const auto expect = [](const std::string& body, const std::string& named) {
      const auto decoded = decode(body);
      CPPUNIT_ASSERT_MESSAGE(body, !decoded.ok());
      CPPUNIT_ASSERT_MESSAGE(body + " -> " + decoded.error().message,
                             decoded.error().message.find(named) != std::string::npos);
    };
    const std::string head = R"({"version":1,"eventId":"e1","type":"order.created","orderNo":"A",)";
    expect("not json", "JSON");
    expect("[]", "body");
    expect(R"({"version":2})", "version: found 2, allowed 1");
    expect(R"({"version":"1"})", "version");
    expect(R"({"version":1})", "eventId");
    expect(R"({"version":1,"eventId":"e1","type":"order.eaten","orderNo":"A","lines":[]})",
           "type: found order.eaten");
    expect(R"({"version":1,"eventId":"e1","type":"order.paid","orderNo":"a b","lines":[]})", "orderNo");
    expect(head + R"("lines":{}})", "lines");
    expect(head + R"("lines":[{"productId":"p","quantity":0}]})", "lines[0].quantity: found 0");
    expect(head + R"("lines":[{"productId":"p","quantity":1},{"quantity":1}]})", "lines[1].productId");
  }

  void every_event_type_has_a_queue() {
    // An event nobody is bound to would be returned for ever.
    const auto topology = order_topology(5);
    for (const auto type : kEventTypes) {
      int bound = 0;
      for (const auto& queue : topology.queues) {
        bound += static_cast<int>(std::count(queue.routing_keys.begin(), queue.routing_keys.end(), type));
      }
      CPPUNIT_ASSERT_EQUAL_MESSAGE(std::string(type), 1, bound);
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(EventsTest);

}  // namespace penstock::orders
