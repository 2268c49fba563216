#include "cli/command_line.hpp"
#include "cli/command_table.hpp"
#include "cli/help.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <set>
#include <sstream>

namespace penstock::cli {
namespace {

constexpr OptionSpec kOptions[] = {{"--dry-run", "", "write nothing"},
                                   {"--limit", "ROWS", "at most so many"}};
constexpr Command kLoad{"stock load", "FILE.csv", 1, 1, kOptions, "load stock", "Loads stock.", nullptr};
constexpr Command kShow{"stock show", "", 0, 0, {}, "show stock", "Shows stock.", nullptr};
constexpr Command kCheck{"check", "", 0, 0, {}, "check", "Checks.", nullptr};
const std::vector<const Command*> kTable{&kLoad, &kShow, &kCheck};

class CommandLineTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CommandLineTest);
  CPPUNIT_TEST(options_may_stand_anywhere_after_the_command);
  CPPUNIT_TEST(value_may_follow_an_equals_sign);
  CPPUNIT_TEST(two_dashes_end_the_options);
  CPPUNIT_TEST(unknown_command_and_option_get_the_nearest_name);
  CPPUNIT_TEST(first_word_of_a_group_names_its_commands);
  CPPUNIT_TEST(wrong_number_of_arguments_is_told);
  CPPUNIT_TEST(option_without_its_value_is_told);
  CPPUNIT_TEST(help_wins_over_everything_else_that_is_wrong);
  CPPUNIT_TEST(every_command_has_a_name_of_its_own_and_a_help_text);
  CPPUNIT_TEST_SUITE_END();

 public:
  void options_may_stand_anywhere_after_the_command() {
    // People add the configuration at the end of the line they just tried.
    const auto line = parse({"stock", "load", "--dry-run", "a.csv", "-c", "x.properties", "--set", "a=b",
                             "--json", "--config", "y"});
    CPPUNIT_ASSERT_EQUAL(std::string(), line.error);
    CPPUNIT_ASSERT(line.invocation->command == &kLoad);
    CPPUNIT_ASSERT((std::vector<std::string>{"a.csv"}) == line.invocation->arguments);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, line.invocation->sources.files.size());
    CPPUNIT_ASSERT((std::vector<std::string>{"a=b"}) == line.invocation->sources.overrides);
    CPPUNIT_ASSERT(line.invocation->json);
    CPPUNIT_ASSERT(line.invocation->has("--dry-run"));
    CPPUNIT_ASSERT(!line.invocation->has("--limit"));
  }

  void value_may_follow_an_equals_sign() {
    // The value itself may have one.
    const auto line = parse({"stock", "load", "a.csv", "--limit=5", "--set=log.level=debug"});
    CPPUNIT_ASSERT_EQUAL(std::string("5"), line.invocation->options.at("--limit"));
    CPPUNIT_ASSERT((std::vector<std::string>{"log.level=debug"}) == line.invocation->sources.overrides);
    CPPUNIT_ASSERT_EQUAL(std::string("--dry-run takes no value"),
                         parse({"stock", "load", "a.csv", "--dry-run=yes"}).error);
  }

  void two_dashes_end_the_options() {
    // A file may be called --json.
    const auto line = parse({"stock", "load", "--", "--json"});
    CPPUNIT_ASSERT((std::vector<std::string>{"--json"}) == line.invocation->arguments);
    CPPUNIT_ASSERT(!line.invocation->json);
  }

  void unknown_command_and_option_get_the_nearest_name() {
    // The commonest reason is a slip.
    CPPUNIT_ASSERT(parse({"stock", "laod"}).error.find("did you mean stock load?") != std::string::npos);
    CPPUNIT_ASSERT(parse({"chekc"}).error.find("did you mean check?") != std::string::npos);
    CPPUNIT_ASSERT(parse({"stock", "load", "a", "--dry-rn"}).error.find("did you mean --dry-run?") !=
                   std::string::npos);
    CPPUNIT_ASSERT(parse({"check", "--dry-run"}).error.find("no option of check") != std::string::npos);
    CPPUNIT_ASSERT(!parse({}).error.empty());
  }

  void first_word_of_a_group_names_its_commands() {
    // `penstock stock` is a question.
    CPPUNIT_ASSERT(parse({"stock"}).error.find("stock load, stock show") != std::string::npos);
  }

  void wrong_number_of_arguments_is_told() {
    // Two files where one is taken would silently load one.
    CPPUNIT_ASSERT_EQUAL(std::string("found 0 arguments, needed FILE.csv"), parse({"stock", "load"}).error);
    CPPUNIT_ASSERT_EQUAL(std::string("found 2 arguments, needed FILE.csv"),
                         parse({"stock", "load", "a", "b"}).error);
    CPPUNIT_ASSERT_EQUAL(std::string("found 1 argument, needed none"), parse({"check", "a"}).error);
  }

  void option_without_its_value_is_told() {
    // -c at the end must not be taken for "no file".
    CPPUNIT_ASSERT_EQUAL(std::string("-c needs a value, FILE"), parse({"check", "-c"}).error);
  }

  void help_wins_over_everything_else_that_is_wrong() {
    // Who asks for help has a wrong line.
    const auto line = parse({"stock", "load", "--help"});
    CPPUNIT_ASSERT(line.help && line.command == &kLoad && line.error.empty());
    CPPUNIT_ASSERT(parse({"--help"}).help);
    CPPUNIT_ASSERT(parse({"help", "check"}).command == &kCheck);
    CPPUNIT_ASSERT(parse({"--version"}).version);
  }

  void every_command_has_a_name_of_its_own_and_a_help_text() {
    // The overview is the first page people read.
    std::set<std::string_view> names;
    for (const auto* command : all_commands()) {
      CPPUNIT_ASSERT(names.insert(command->name).second);
      CPPUNIT_ASSERT(!command->summary.empty() && !command->help.empty() && command->run);
      std::ostringstream help;
      print_help(*command, help);
      CPPUNIT_ASSERT(help.str().find(command->name) != std::string::npos);
    }
    CPPUNIT_ASSERT(names.contains("serve") && names.contains("check") && names.contains("describe"));
  }

 private:
  CommandLine parse(const std::vector<std::string>& words) {
    return parse_command_line(kTable, words, out_, err_);
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(CommandLineTest);

}  // namespace
}  // namespace penstock::cli
