#include "penstock/json.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <string>

namespace penstock::json {

class JsonTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(JsonTest);
  CPPUNIT_TEST(integers_keep_every_digit);
  CPPUNIT_TEST(a_fraction_or_exponent_never_passes_for_an_integer);
  CPPUNIT_TEST(kinds_are_exact);
  CPPUNIT_TEST(hostile_texts_are_refused);
  CPPUNIT_TEST(depth_is_bounded_and_the_bound_itself_is_allowed);
  CPPUNIT_TEST(written_text_parses_to_the_same_values);
  CPPUNIT_TEST(control_characters_are_escaped);
  CPPUNIT_TEST_SUITE_END();

 public:
  void integers_keep_every_digit() {
    // A product id above 2^53 must not lose its last digit, as it would in a double.
    const auto parsed = parse(R"([9007199254740993, -9223372036854775808, 18446744073709551615])");
    CPPUNIT_ASSERT(parsed.ok());
    const auto& items = *parsed->as_array();
    CPPUNIT_ASSERT_EQUAL(std::int64_t{9007199254740993}, *items[0].as_integer());
    CPPUNIT_ASSERT_EQUAL(INT64_MIN, *items[1].as_integer());
    CPPUNIT_ASSERT_EQUAL(UINT64_MAX, *items[2].as_large_integer());
  }

  void a_fraction_or_exponent_never_passes_for_an_integer() {
    // "1.0" or "1e3" as a quantity would silently be cut by a lenient reader.
    for (const char* text : {"1.5", "1.0", "1e3", "1E3", "-0.0"}) {
      const auto parsed = parse(text);
      CPPUNIT_ASSERT_MESSAGE(text, parsed.ok());
      CPPUNIT_ASSERT_MESSAGE(text, parsed->as_integer() == nullptr);
      CPPUNIT_ASSERT_EQUAL(std::string("a number with a fraction or exponent"), std::string(parsed->kind()));
    }
  }

  void kinds_are_exact() {
    // A reader that converts "5" or true to a number accepts orders nobody meant.
    const auto parsed = parse(R"({"s":"5","t":true,"n":null,"a":[],"o":{}})");
    CPPUNIT_ASSERT(parsed.ok());
    CPPUNIT_ASSERT(parsed->find("s")->as_integer() == nullptr);
    CPPUNIT_ASSERT(parsed->find("t")->as_integer() == nullptr);
    CPPUNIT_ASSERT(*parsed->find("t")->as_bool());
    CPPUNIT_ASSERT(parsed->find("n")->is_null());
    CPPUNIT_ASSERT(parsed->find("a")->as_array()->empty());
    CPPUNIT_ASSERT(parsed->find("o")->as_object()->empty());
    CPPUNIT_ASSERT(parsed->find("missing") == nullptr);
  }

  void hostile_texts_are_refused() {
    // Each of these made some parser guess; a guess here would be an order.
    for (const std::string& text :
         {std::string(R"({"quantity":1,"quantity":2})"), std::string(R"({"quan\u0000tity":1})"),
          std::string("{\"a\":\"x\0y\"}", 11), std::string(R"({"a":1e999})"), std::string(R"({"a":NaN})"),
          std::string(R"({"a":1} trailing)"), std::string(R"({"a":0x10})"), std::string(R"({a:1})"),
          std::string(R"({"a":})"), std::string("{\"a\":\"\xff\xfe\"}"), std::string("{"), std::string(""),
          std::string(R"({"a":99999999999999999999999})"), std::string(R"([1,])"), std::string("nul")}) {
      const auto parsed = parse(text);
      CPPUNIT_ASSERT_MESSAGE(text, !parsed.ok());
      CPPUNIT_ASSERT_MESSAGE(text, parsed.error().code == ErrorCode::InvalidArgument);
      CPPUNIT_ASSERT_MESSAGE(text, parsed.error().message.starts_with("JSON: "));
    }
  }

  void depth_is_bounded_and_the_bound_itself_is_allowed() {
    // Recursion over hostile nesting is a stack overflow.
    const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CPPUNIT_ASSERT(parse(nested(kMaxDepth)).ok());
    CPPUNIT_ASSERT(!parse(nested(kMaxDepth + 1)).ok());
    CPPUNIT_ASSERT(!parse(nested(100)).ok());
    CPPUNIT_ASSERT(!parse(nested(100'000)).ok());
  }

  void written_text_parses_to_the_same_values() {
    // Events are written by one process and read by another.
    const auto text = Writer{}
                          .begin_object()
                          .key("text")
                          .string("a\"b\\c\n\t\x01 ü")
                          .key("list")
                          .begin_array()
                          .integer(-7)
                          .number(0.5)
                          .boolean(false)
                          .null()
                          .end_array()
                          .key("empty")
                          .begin_object()
                          .end_object()
                          .end_object()
                          .take();
    const auto parsed = parse(text);
    CPPUNIT_ASSERT_MESSAGE(text, parsed.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("a\"b\\c\n\t\x01 ü"), *parsed->find("text")->as_string());
    const auto& list = *parsed->find("list")->as_array();
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, list.size());
    CPPUNIT_ASSERT_EQUAL(std::int64_t{-7}, *list[0].as_integer());
    CPPUNIT_ASSERT(list[3].is_null());
  }

  void control_characters_are_escaped() {
    // A raw control character would break the line format of logs and event streams.
    CPPUNIT_ASSERT_EQUAL(std::string("\"\\u001b[31m\\u007f\\r\\n\""), quote("\x1b[31m\x7f\r\n"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(JsonTest);

}  // namespace penstock::json
