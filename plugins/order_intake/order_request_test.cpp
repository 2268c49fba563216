#include "order_intake/order_request.hpp"
#include "order_intake/fields.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace {

using namespace penstock;
using namespace penstock::order_intake;

std::string order_with(const std::string& item_fields) {
  return R"({"requestId":"r1","items":[{"productId":"a","quantity":1},{)" + item_fields + "}]}";
}

// The refusal of a body; empty when it was taken.
std::string refusal(const std::string& body) {
  const auto order = parse_order(body);
  return order ? std::string() : order.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class OrderRequestTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OrderRequestTest);
  CPPUNIT_TEST(long_and_short_form_of_one_wish_are_the_same_request);
  CPPUNIT_TEST(the_spelling_of_a_wish_does_not_change_its_hash);
  CPPUNIT_TEST(another_quantity_or_product_changes_the_hash);
  CPPUNIT_TEST(a_product_on_two_lines_counts_together);
  CPPUNIT_TEST(a_product_number_keeps_every_digit);
  CPPUNIT_TEST(every_bad_quantity_is_refused_by_the_name_of_its_field);
  CPPUNIT_TEST(every_bad_id_is_refused_by_the_name_of_its_field);
  CPPUNIT_TEST(an_unknown_field_is_refused_with_the_nearest_allowed_one);
  CPPUNIT_TEST(a_body_that_is_no_order_says_what_it_is);
  CPPUNIT_TEST(hostile_json_is_refused_and_not_repeated);
  CPPUNIT_TEST(more_lines_than_allowed_are_refused);
  CPPUNIT_TEST(lines_that_add_up_to_too_many_units_are_refused);
  CPPUNIT_TEST(a_payment_is_read_strictly);
  CPPUNIT_TEST(a_cancellation_says_nothing);
  CPPUNIT_TEST_SUITE_END();

 public:
  void long_and_short_form_of_one_wish_are_the_same_request() {
    // A client that changes its form between two tries must not buy twice.
    const auto full = parse_order(R"({"requestId":"r","items":[{"productId":"p","quantity":2}]})");
    const auto brief = parse_order(R"({"productId":"p","quantity":2,"requestId":"r"})");
    CPPUNIT_ASSERT(full.ok() && brief.ok());
    CPPUNIT_ASSERT(full->hash == brief->hash);
    CPPUNIT_ASSERT(full->lines == brief->lines);
    CPPUNIT_ASSERT_EQUAL(std::string("r"), brief->request.str());
    CPPUNIT_ASSERT_EQUAL(std::size_t{32}, full->hash.str().size());
  }

  void the_spelling_of_a_wish_does_not_change_its_hash() {
    // A repeat is recognised by what it means, not by its bytes.
    const auto one = parse_order(
        R"({"requestId":"r","items":[{"productId":"b","quantity":1},{"productId":5,"quantity":2}]})");
    const auto other = parse_order(
        R"({ "items":[{"quantity":2,"productId":"5"}, {"productId":"b","quantity":1}], "requestId":"r" })");
    CPPUNIT_ASSERT(one.ok() && other.ok());
    CPPUNIT_ASSERT(one->hash == other->hash);
    CPPUNIT_ASSERT(one->lines == other->lines);
  }

  void another_quantity_or_product_changes_the_hash() {
    // Otherwise a reused request id would silently answer with an order of something else.
    const auto hash = [](const char* sku, std::int64_t quantity) {
      return hash_of({{orders::Sku(sku), quantity}}).str();
    };
    CPPUNIT_ASSERT(hash("p", 1) != hash("p", 2));
    CPPUNIT_ASSERT(hash("p", 1) != hash("q", 1));
    CPPUNIT_ASSERT(hash("p1", 1) != hash("p", 11));
    CPPUNIT_ASSERT(hash_of({{orders::Sku("a"), 1}, {orders::Sku("b"), 2}}) !=
                   hash_of({{orders::Sku("a"), 2}, {orders::Sku("b"), 1}}));
  }

  void a_product_on_two_lines_counts_together() {
    // 3 + 3 of one product is a wish for 6: limits and stock are judged on the sum.
    const auto order = parse_order(
        R"({"requestId":"r","items":[{"productId":"p","quantity":3},{"productId":"p","quantity":3}]})");
    CPPUNIT_ASSERT(order.ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, order->lines.size());
    CPPUNIT_ASSERT_EQUAL(std::int64_t{6}, order->lines[0].quantity);
  }

  void a_product_number_keeps_every_digit() {
    // Beyond 2^53 a double would silently name another product.
    for (const auto* number :
         {"9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551615", "0"}) {
      const auto order =
          parse_order(R"({"requestId":"r","quantity":1,"productId":)" + std::string(number) + "}");
      CPPUNIT_ASSERT_MESSAGE(number, order.ok());
      CPPUNIT_ASSERT_EQUAL(std::string(number), order->lines[0].sku.str());
    }
  }

  void every_bad_quantity_is_refused_by_the_name_of_its_field() {
    // Nothing that is not a plain whole number in range may pass for a quantity.
    for (const auto* bad : {"-5", "0", "1.5", "1e3", "1.0", "\"1\"", "\"1e3\"", "\"0x10\"", "true", "null",
                            "[]", "{}", "1000001", "2147483648", "9007199254740993", "9223372036854775808"}) {
      const auto message = refusal(order_with(R"("productId":"b","quantity":)" + std::string(bad)));
      CPPUNIT_ASSERT_MESSAGE(bad + (": " + message), contains(message, "items[1].quantity: found "));
      CPPUNIT_ASSERT_MESSAGE(bad, contains(message, "allowed a whole number from 1 to 1000000"));
      const auto brief = refusal(R"({"requestId":"r","productId":"p","quantity":)" + std::string(bad) + "}");
      CPPUNIT_ASSERT_MESSAGE(bad, brief.starts_with("quantity: found "));
    }
    CPPUNIT_ASSERT(contains(refusal(order_with(R"("productId":"b","quantity":-5)")), "found -5,"));
    CPPUNIT_ASSERT(contains(refusal(order_with(R"("productId":"b")")), "items[1].quantity: found nothing"));
    CPPUNIT_ASSERT(!refusal(order_with(R"("productId":"b","quantity":0x10)")).empty());
    CPPUNIT_ASSERT(!refusal(order_with(R"("productId":"b","quantity":18446744073709551616)")).empty());
  }

  void every_bad_id_is_refused_by_the_name_of_its_field() {
    // Ids reach logs, paths and keys unescaped, so only harmless characters may pass.
    const std::string long_id(65, 'x');
    for (const auto& bad : {std::string("\"\""), std::string("\"a b\""), std::string("\"a\\nb\""),
                            std::string("\"\\u00e9\""), "\"" + long_id + "\"", std::string("null"),
                            std::string("1.5"), std::string("[]"), std::string("-1")}) {
      CPPUNIT_ASSERT_MESSAGE(bad, contains(refusal(order_with("\"quantity\":1,\"productId\":" + bad)),
                                           "items[1].productId: found "));
      CPPUNIT_ASSERT_MESSAGE(bad, refusal("{\"productId\":\"p\",\"quantity\":1,\"requestId\":" + bad + "}")
                                      .starts_with("requestId: found "));
    }
    CPPUNIT_ASSERT(
        refusal(R"({"productId":"p","quantity":1,"requestId":7})").starts_with("requestId: found 7,"));
    CPPUNIT_ASSERT(refusal(R"({"productId":"p","quantity":1})").starts_with("requestId: found nothing"));
  }

  void an_unknown_field_is_refused_with_the_nearest_allowed_one() {
    // A misspelt field that is silently ignored orders something else than was meant.
    const auto top = refusal(R"({"requestid":"r","productId":"p","quantity":1})");
    CPPUNIT_ASSERT_EQUAL(
        std::string("the body: found the unknown field \"requestid\", the nearest allowed is \"requestId\""),
        top);
    const auto item = refusal(order_with(R"("productId":"b","quantiy":1)"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("items[1]: found the unknown field \"quantiy\", the nearest allowed is \"quantity\""),
        item);
    const auto both = refusal(R"({"requestId":"r","items":[],"quantity":1})");
    CPPUNIT_ASSERT(both.starts_with("quantity: found beside items"));
    CPPUNIT_ASSERT(contains(refusal(R"({"requestId":"r","price":1})"), "unknown field \"price\""));
  }

  void a_body_that_is_no_order_says_what_it_is() {
    // Every malformed body gets an answer that helps to mend it.
    CPPUNIT_ASSERT(contains(refusal("[]"), "the body: found an array, allowed an object"));
    CPPUNIT_ASSERT(contains(refusal("5"), "the body: found 5, allowed an object"));
    CPPUNIT_ASSERT(contains(refusal(R"({"requestId":"r","items":{}})"), "items: found an object"));
    CPPUNIT_ASSERT(contains(refusal(R"({"requestId":"r","items":[]})"), "items: found 0 elements"));
    CPPUNIT_ASSERT(
        contains(refusal(R"({"requestId":"r","items":[7]})"), "items[0]: found 7, allowed an object"));
    for (const auto* broken : {"", " ", "{", "nope", "{\"requestId\":\"r\"}x", "{'a':1}", "\xff\xfe"}) {
      CPPUNIT_ASSERT_MESSAGE(broken, !refusal(broken).empty());
    }
  }

  void hostile_json_is_refused_and_not_repeated() {
    // What other parsers let through must not slip past, nor land raw in answers and logs.
    CPPUNIT_ASSERT(
        contains(refusal(R"({"requestId":"r","requestId":"s","productId":"p","quantity":1})"), "twice"));
    CPPUNIT_ASSERT(!refusal("{\"requestId\\u0000x\":\"r\",\"productId\":\"p\",\"quantity\":1}").empty());
    std::string deep(100, '[');
    CPPUNIT_ASSERT(!refusal("{\"requestId\":" + deep + std::string(100, ']') + "}").empty());
    const auto message = refusal("{\"a\\r\\nSet-Cookie: x\":1}");
    CPPUNIT_ASSERT(!contains(message, "Set-Cookie"));
    CPPUNIT_ASSERT(refusal("{\"" + std::string(5'000, 'k') + "\":1}").size() < 300);
  }

  void more_lines_than_allowed_are_refused() {
    // One order may not make an unbounded transaction.
    const auto order_of = [](std::size_t lines) {
      std::string items;
      for (std::size_t i = 0; i < lines; ++i) {
        items += (i ? "," : "") + std::string(R"({"quantity":1,"productId":)") + std::to_string(i) + "}";
      }
      return R"({"requestId":"r","items":[)" + items + "]}";
    };
    CPPUNIT_ASSERT(parse_order(order_of(orders::kMaxLines)).ok());
    CPPUNIT_ASSERT(contains(refusal(order_of(orders::kMaxLines + 1)), "items: found 51 elements"));
  }

  void lines_that_add_up_to_too_many_units_are_refused() {
    // The bound on a line must hold for the line that they become.
    const auto message = refusal(
        R"({"requestId":"r","items":[{"productId":"p","quantity":1000000},{"productId":"p","quantity":1}]})");
    CPPUNIT_ASSERT(contains(message, "items: found 1000001 units of product p"));
  }

  void a_payment_is_read_strictly() {
    // Money must never be read from something that only looks like a number.
    const auto with_amount = [](const std::string& amount) {
      return R"({"provider":"bank","paymentNo":"n1","orderNo":"o1","currency":"EUR","amount":)" + amount +
             "}";
    };
    const auto payment = parse_payment(with_amount("1999"));
    CPPUNIT_ASSERT(payment.ok());
    CPPUNIT_ASSERT_EQUAL(std::int64_t{1999}, payment->amount_minor);
    CPPUNIT_ASSERT_EQUAL(std::string("n1"), payment->payment_no.str());
    CPPUNIT_ASSERT_EQUAL(std::string("o1"), payment->order_no.str());
    for (const auto* bad : {"19.99", "-1", "\"1999\"", "1e3", "null", "9223372036854775808"}) {
      const auto refused = parse_payment(with_amount(bad));
      CPPUNIT_ASSERT_MESSAGE(bad, !refused.ok() && refused.error().message.starts_with("amount: found "));
    }
    const auto currency =
        parse_payment(R"({"provider":"bank","paymentNo":"n1","orderNo":"o1","currency":"eur","amount":1})");
    CPPUNIT_ASSERT(!currency.ok() && currency.error().message.starts_with("currency: found \"eur\""));
    CPPUNIT_ASSERT(!parse_payment(R"({"provider":"bank"})").ok());
  }

  void a_cancellation_says_nothing() {
    // A body with wishes that nobody reads would be a promise that nobody keeps.
    CPPUNIT_ASSERT(parse_cancellation("").ok());
    CPPUNIT_ASSERT(parse_cancellation(" {} ").ok());
    CPPUNIT_ASSERT(!parse_cancellation(R"({"reason":"x"})").ok());
    CPPUNIT_ASSERT(!parse_cancellation("[]").ok());
    CPPUNIT_ASSERT(!parse_cancellation("{").ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OrderRequestTest);

}  // namespace
