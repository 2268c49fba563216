#include "host/config/checked_config.hpp"
#include "host/config/property_file.hpp"

#include "penstock/testkit/temp_dir.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <cstdlib>
#include <fstream>

namespace penstock::host {
namespace {

Manifest publisher() {
  Manifest manifest;
  manifest.name = "publisher";
  manifest.host_keys = {"auth.mode"};
  manifest.config = {
      {"max_batch", KeyType::Integer, "500", 1, 5000, {}, "Rows of one lease."},
      {"poll_ms", KeyType::Integer, "250", 1, 60000, {}, "Milliseconds between two looks."},
      {"dialect", KeyType::Choice, "sqlite", INT64_MIN, INT64_MAX, {"sqlite", "mysql"}, "The database."},
      {"durable", KeyType::Boolean, "true", INT64_MIN, INT64_MAX, {}, "Whether it is."},
      {"password", KeyType::Secret, std::nullopt, INT64_MIN, INT64_MAX, {}, "The database's password."},
  };
  return manifest;
}

class ConfigTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConfigTest);
  CPPUNIT_TEST(later_file_wins_and_override_wins_over_files);
  CPPUNIT_TEST(place_of_a_value_is_its_file_and_line);
  CPPUNIT_TEST(environment_is_expanded_and_taken_literally);
  CPPUNIT_TEST(reference_to_nothing_is_reported_and_not_left_in_the_value);
  CPPUNIT_TEST(references_in_a_circle_are_reported);
  CPPUNIT_TEST(secret_file_loses_its_last_newline);
  CPPUNIT_TEST(secret_of_a_later_layer_wins_over_a_secret_file);
  CPPUNIT_TEST(secret_twice_in_one_file_is_reported_without_showing_it);
  CPPUNIT_TEST(every_problem_is_reported_at_once);
  CPPUNIT_TEST(unknown_key_gets_the_nearest_name_and_hides_its_value);
  CPPUNIT_TEST(integers_are_taken_strictly);
  CPPUNIT_TEST(key_of_an_installed_plugin_is_checked_but_not_required);
  CPPUNIT_TEST(key_twice_in_one_file_names_both_lines);
  CPPUNIT_TEST(lines_are_counted_through_comments_and_continuations);
  CPPUNIT_TEST(folder_and_missing_file_and_binary_are_reported);
  CPPUNIT_TEST(section_reads_its_own_keys_and_the_host_keys_it_asked_for);
  CPPUNIT_TEST(reading_an_undeclared_key_or_another_type_is_a_defect);
  CPPUNIT_TEST_SUITE_END();

 public:
  void later_file_wins_and_override_wins_over_files() {
    // A site's file must be able to correct the shipped one, and an operator both, without editing.
    const auto first = write("a.properties", "publisher.max_batch = 10\npublisher.poll_ms = 11\n");
    const auto second = write("b.properties", "publisher.max_batch = 20\n");
    const auto config = check({{first, second}, {"publisher.max_batch=30", "publisher.password=x"}});
    CPPUNIT_ASSERT_EQUAL(std::string("30"), config.find("publisher.max_batch")->text);
    CPPUNIT_ASSERT_EQUAL(std::string("11"), config.find("publisher.poll_ms")->text);
    const auto without = check({{first, second}, {"publisher.password=x"}});
    CPPUNIT_ASSERT_EQUAL(std::string("20"), without.find("publisher.max_batch")->text);
  }

  void place_of_a_value_is_its_file_and_line() {
    // "It is wrong somewhere in four files" sends people searching.
    const auto file = write("a.properties", "# comment\n\npublisher.max_batch = 10\n");
    const auto config = check({{file}, {"publisher.password=x"}});
    CPPUNIT_ASSERT_EQUAL(file.string() + ":3", config.find("publisher.max_batch")->place);
    CPPUNIT_ASSERT_EQUAL(std::string("--set"), config.find("publisher.password")->place);
    CPPUNIT_ASSERT_EQUAL(std::string("default"), config.find("publisher.poll_ms")->place);
  }

  void environment_is_expanded_and_taken_literally() {
    // A password from the environment may contain anything, also what looks like a reference.
    ::setenv("PENSTOCK_TEST_SECRET", "a${publisher.poll_ms}$b", 1);
    const auto file = write("a.properties", "publisher.password = <${system.env.PENSTOCK_TEST_SECRET}>\n");
    CPPUNIT_ASSERT_EQUAL(std::string("<a${publisher.poll_ms}$b>"),
                         check({{file}, {}}).find("publisher.password")->text);
  }

  void reference_to_nothing_is_reported_and_not_left_in_the_value() {
    // Otherwise the text "${system.env.X}" is sent to the database as its password.
    ::unsetenv("PENSTOCK_TEST_UNSET");
    const auto file = write("a.properties",
                            "publisher.password = ${system.env.PENSTOCK_TEST_UNSET}\n"
                            "publisher.poll_ms = ${publisher.pol}\npublisher.max_batch = ${oops\n");
    check({{file}, {}}, 3);
    assert_problem("publisher.password", {file.string() + ":1", "PENSTOCK_TEST_UNSET", "not set", "export"});
    assert_problem("publisher.poll_ms", {file.string() + ":2", "publisher.pol", "not set"});
    assert_problem("publisher.max_batch", {file.string() + ":3", "without \"}\""});
  }

  void references_in_a_circle_are_reported() {
    // An endless expansion must not take the process with it.
    const auto file =
        write("a.properties",
              "publisher.password = ${publisher.dialect}\npublisher.dialect = ${publisher.password}\n");
    check({{file}, {}}, 2);
    assert_problem("publisher.password", {"circle"});
  }

  void secret_file_loses_its_last_newline() {
    // Editors add it, and a password with a newline is refused without a word why.
    const auto secret = write("password", "s3cret\n");
    const auto file = write("a.properties", "publisher.password.file = " + secret.string() + "\n");
    CPPUNIT_ASSERT_EQUAL(std::string("s3cret"), check({{file}, {}}).find("publisher.password")->text);
    const auto empty = write("empty", "\n");
    check({{}, {"publisher.password.file=" + empty.string()}}, 1);
    assert_problem("publisher.password.file", {"--set", "an empty file"});
    check({{}, {"publisher.password.file=/nowhere/at/all"}}, 1);
    assert_problem("publisher.password.file", {"--set", "/nowhere/at/all", "no readable file"});
  }

  void secret_of_a_later_layer_wins_over_a_secret_file() {
    // "Later wins" holds for the secret as a whole, however each layer gives it.
    const auto secret = write("password", "from-file");
    const auto first = write("a.properties", "publisher.password.file = " + secret.string() + "\n");
    const auto config = check({{first}, {"publisher.password=direct"}});
    CPPUNIT_ASSERT_EQUAL(std::string("direct"), config.find("publisher.password")->text);
    const auto second = write("b.properties", "publisher.password = direct\n");
    const auto other = check({{second, first}, {}});
    CPPUNIT_ASSERT_EQUAL(std::string("from-file"), other.find("publisher.password")->text);
  }

  void secret_twice_in_one_file_is_reported_without_showing_it() {
    // Which one counts would be a guess; and problems end up in logs and tickets.
    const auto secret = write("password", "hidden-one");
    const auto file =
        write("a.properties",
              "publisher.password = hidden-two\npublisher.password.file = " + secret.string() + "\n");
    check({{file}, {}}, 1);
    const auto text = assert_problem("publisher.password", {file.string() + ":1", file.string() + ":2"});
    CPPUNIT_ASSERT_EQUAL(std::string::npos, text.find("hidden"));
  }

  void every_problem_is_reported_at_once() {
    // One error a run makes an evening of a file with ten.
    const auto file = write("a.properties",
                            "publisher.max_batch = 0\npublisher.poll_ms = soon\npublisher.dialect = mysq\n"
                            "publisher.durable = yes\npublisher.max_bach = 3\nloose line\npublisher.x =\n");
    check({{file}, {"nonsense"}}, 9);
    assert_problem("publisher.max_batch", {file.string() + ":1", "\"0\"", "from 1 to 5000", "500"});
    assert_problem("publisher.poll_ms", {file.string() + ":2", "\"soon\"", "an integer from 1 to 60000"});
    assert_problem("publisher.dialect",
                   {file.string() + ":3", "\"mysq\"", "one of sqlite, mysql", "did you mean mysql?"});
    assert_problem("publisher.durable", {file.string() + ":4", "\"yes\"", "true or false"});
    assert_problem("publisher.max_bach", {file.string() + ":5", "did you mean publisher.max_batch?"});
    assert_problem("publisher.x", {file.string() + ":7", "unknown key"});
    assert_problem("line 6", {file.string(), "without \"=\"", "KEY = VALUE"});
    assert_problem("publisher.password", {file.string(), "nothing", "The database's password."});
    assert_problem("nonsense", {"--set", "KEY=VALUE"});
  }

  void unknown_key_gets_the_nearest_name_and_hides_its_value() {
    // The value of a misspelt password key is still a password.
    check({{}, {"publisher.pasword=hunter2", "publisher.password=x"}}, 1);
    const auto text = assert_problem("publisher.pasword", {"did you mean publisher.password?"});
    CPPUNIT_ASSERT_EQUAL(std::string::npos, text.find("hunter2"));
  }

  void integers_are_taken_strictly() {
    // "10s", "0x10" or "1e3" read as something else is worse than refused.
    for (const std::string bad :
         {"10s", "0x10", "1e3", "1.5", "+5", "- 5", "99999999999999999999", "5001", "-1"}) {
      check({{}, {"publisher.max_batch=" + bad, "publisher.password=x"}}, 1);
      assert_problem("publisher.max_batch", {"\"" + bad + "\"", "an integer from 1 to 5000"});
    }
    CPPUNIT_ASSERT_EQUAL(
        std::string("5000"),
        check({{}, {"publisher.max_batch=5000", "publisher.password=x"}}).find("publisher.max_batch")->text);
  }

  void key_of_an_installed_plugin_is_checked_but_not_required() {
    // Roles share files: a section of a plugin that another role runs is welcome, its typos are not.
    Problems problems;
    const auto raw = read_sources({{}, {"publisher.max_batch=zero", "plugins=none", "data.dir=x"}});
    const std::vector installed{publisher()};
    CheckedConfig::check(raw, {}, installed, problems);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, problems.size());
    CPPUNIT_ASSERT_EQUAL(std::string("publisher.max_batch"), problems[0].subject);
  }

  void key_twice_in_one_file_names_both_lines() {
    // The reader of the first line believes it; the program uses the second.
    const auto file =
        write("a.properties", "publisher.max_batch = 1\npublisher.password = x\npublisher.max_batch = 2\n");
    check({{file}, {}}, 1);
    assert_problem("publisher.max_batch", {file.string() + ":3", "first on line 1"});
  }

  void lines_are_counted_through_comments_and_continuations() {
    // A wrong line number is worse than none.
    const auto file = write("a.properties",
                            "# a \\\n! b\npublisher.dialect = sql\\\n  ite\r\n\npublisher.password = "
                            "a\\\\\npublisher.max_batch: 7");
    Problems problems;
    const auto properties = read_property_file(file, problems);
    CPPUNIT_ASSERT(problems.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, properties.size());
    for (const auto& property : properties) {
      if (property.key == "publisher.dialect") CPPUNIT_ASSERT_EQUAL(3, property.line);
      if (property.key == "publisher.password") CPPUNIT_ASSERT_EQUAL(6, property.line);
      if (property.key == "publisher.max_batch") CPPUNIT_ASSERT_EQUAL(7, property.line);
    }
  }

  void folder_and_missing_file_and_binary_are_reported() {
    // Opening a folder succeeds and reads as an empty file: it would pass for "no settings".
    Problems problems;
    CPPUNIT_ASSERT(read_property_file(folder_.path(), problems).empty());
    CPPUNIT_ASSERT(read_property_file(folder_.path() / "missing", problems).empty());
    CPPUNIT_ASSERT(read_property_file(write("binary", std::string("a=1\n\0b=2\n", 9)), problems).empty());
    CPPUNIT_ASSERT(
        read_property_file(write("huge", std::string(kMaxPropertyFileBytes + 1, 'x')), problems).empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, problems.size());
    CPPUNIT_ASSERT_EQUAL(std::string("a folder"), problems[0].found);
    CPPUNIT_ASSERT(problems[1].found.find("No such file") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("a NUL byte"), problems[2].found);
    CPPUNIT_ASSERT_EQUAL(std::string("more bytes"), problems[3].found);
  }

  void section_reads_its_own_keys_and_the_host_keys_it_asked_for() {
    // A plugin must not depend on what others are called or how they are set.
    const auto config = check({{}, {"publisher.password=x", "publisher.max_batch=7"}});
    const auto section = config.section(publisher());
    CPPUNIT_ASSERT_EQUAL(std::int64_t{7}, section->integer("max_batch"));
    CPPUNIT_ASSERT(section->duration("poll_ms") == std::chrono::milliseconds(250));
    CPPUNIT_ASSERT(section->flag("durable"));
    CPPUNIT_ASSERT_EQUAL(std::string("x"), section->text("password"));
    CPPUNIT_ASSERT_EQUAL(std::string("header"), section->text("auth.mode"));
    CPPUNIT_ASSERT(config.list("plugins") == std::vector<std::string>({"a", "b"}));
  }

  void reading_an_undeclared_key_or_another_type_is_a_defect() {
    // A default in the code would be a second schema.
    const auto config = check({{}, {"publisher.password=x"}});
    const auto section = config.section(publisher());
    CPPUNIT_ASSERT_THROW(section->integer("max_retries"), std::logic_error);
    CPPUNIT_ASSERT_THROW(section->integer("dialect"), std::logic_error);
    CPPUNIT_ASSERT_THROW(section->text("data.dir"), std::logic_error);
    CPPUNIT_ASSERT_THROW(section->duration("max_batch"), std::logic_error);
  }

 private:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  CheckedConfig check(ConfigSources sources, std::size_t expected_problems = 0) {
    sources.overrides.insert(sources.overrides.end(), {"plugins=a, b", "data.dir=data"});
    const auto raw = read_sources(sources);
    problems_ = raw.problems;
    const std::vector selected{publisher()};
    auto config = CheckedConfig::check(raw, selected, selected, problems_);
    std::string all;
    for (const auto& problem : problems_) all += to_text(problem) + "\n";
    CPPUNIT_ASSERT_EQUAL_MESSAGE(all, expected_problems, problems_.size());
    return config;
  }

  std::string assert_problem(const std::string& subject, std::initializer_list<std::string> parts) {
    for (const auto& problem : problems_) {
      if (problem.subject != subject) continue;
      const auto text = to_text(problem);
      for (const auto& part : parts)
        CPPUNIT_ASSERT_MESSAGE(text + "\nlacks: " + part, text.find(part) != std::string::npos);
      return text;
    }
    CPPUNIT_FAIL("no problem about " + subject);
  }

  testkit::TempDir folder_;
  Problems problems_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConfigTest);

}  // namespace
}  // namespace penstock::host
