#include "host/escape.hpp"
#include "host/nearest.hpp"
#include "host/problem.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace penstock::host {
namespace {

class TextTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TextTest);
  CPPUNIT_TEST(control_characters_and_broken_utf8_are_escaped);
  CPPUNIT_TEST(shortened_text_is_not_cut_within_a_character);
  CPPUNIT_TEST(problem_stays_on_one_line_whatever_it_names);
  CPPUNIT_TEST(nearest_name_allows_a_slip_but_no_rewriting);
  CPPUNIT_TEST(edit_distance_counts_a_swap_once);
  CPPUNIT_TEST_SUITE_END();

 public:
  void control_characters_and_broken_utf8_are_escaped() {
    // Bytes from outside end up on terminals and in line-based logs.
    CPPUNIT_ASSERT_EQUAL(std::string("a\\x0ab\\x1b\\x7f"), escaped("a\nb\x1b\x7f"));
    CPPUNIT_ASSERT_EQUAL(std::string("\\xc2\\x9b"),
                         escaped("\xc2\x9b"));  // a C1 control starts escape sequences, too
    CPPUNIT_ASSERT_EQUAL(std::string("\\xff\\xc3(\\xed\\xa0\\x80"), escaped("\xff\xc3(\xed\xa0\x80"));
    CPPUNIT_ASSERT_EQUAL(std::string("Größe €"), escaped("Größe €"));
    CPPUNIT_ASSERT_EQUAL(std::string("\xEF\xBF\xBDx"), valid_utf8("\xffx"));
    CPPUNIT_ASSERT_EQUAL(std::string("\xEF\xBF\xBD\xEF\xBF\xBD"), valid_utf8("\xc0\x80"));  // overlong NUL
  }

  void shortened_text_is_not_cut_within_a_character() {
    // Half a character is not UTF-8, and a JSON log line with it is no JSON.
    CPPUNIT_ASSERT_EQUAL(std::string("a..."), shortened("a€b", 2));
    CPPUNIT_ASSERT_EQUAL(std::string("a€..."), shortened("a€b", 4));
    CPPUNIT_ASSERT_EQUAL(std::string("a€b"), shortened("a€b", 5));
  }

  void problem_stays_on_one_line_whatever_it_names() {
    // A key with a newline could otherwise forge a second message.
    const auto text = to_text({"a\nb", "k\ney", host::quoted("v\n\"al"), "n", "x"});
    CPPUNIT_ASSERT_EQUAL(std::string("a\\x0ab: k\\x0aey: found \"v\\x0a\\\"al\"; needed n; next: x"), text);
  }

  void nearest_name_allows_a_slip_but_no_rewriting() {
    // A far-fetched suggestion is worse than none.
    const std::vector<std::string> names{"http.public.port", "http.operator.port", "log.level"};
    CPPUNIT_ASSERT_EQUAL(std::string("http.public.port"), nearest("http.pubilc.port", names));
    CPPUNIT_ASSERT_EQUAL(std::string("log.level"), nearest("log.levl", names));
    CPPUNIT_ASSERT_EQUAL(std::string(), nearest("stock", names));
    CPPUNIT_ASSERT_EQUAL(std::string(), nearest("", names));
  }

  void edit_distance_counts_a_swap_once() {
    // Swapped letters are the commonest slip.
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, edit_distance("levle", "level"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, edit_distance("level", "level"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, edit_distance("", "level"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, edit_distance("kitten", "sitting"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(TextTest);

}  // namespace
}  // namespace penstock::host
