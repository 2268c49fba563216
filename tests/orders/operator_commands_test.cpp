// The operator's commands on a database of their own, with no server running.
#include "penstock/testkit/process.hpp"
#include "penstock/testkit/temp_dir.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <fstream>

namespace penstock::orders_test {
namespace {

constexpr auto kLimit = std::chrono::seconds(30);
const std::string kHeader = "product,name,quantity,price_minor,currency\n";

struct Said {
  int status = 0;
  std::string out;
  std::string err;
};

class OperatorCommandsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OperatorCommandsTest);
  CPPUNIT_TEST(a_plan_of_migration_applies_nothing);
  CPPUNIT_TEST(the_same_stock_file_twice_changes_nothing);
  CPPUNIT_TEST(a_dry_run_writes_nothing);
  CPPUNIT_TEST(a_stock_file_with_problems_writes_nothing_and_names_every_line);
  CPPUNIT_TEST(an_unknown_order_is_an_answer_of_no);
  CPPUNIT_TEST(commands_say_what_they_do_not_understand);
  CPPUNIT_TEST_SUITE_END();

  const testkit::TempDir folder_;

  Said penstock(std::vector<std::string> words) const {
    words.insert(words.begin(), PENSTOCK_PROGRAM);
    words.insert(words.end(),
                 {"-c", EMBEDDED_CONFIG, "--set", "data.dir=" + (folder_.path() / "data").string(), "--set",
                  "http.operator.port=1"});  // where nobody listens
    testkit::Process process(words, folder_.path(), {});
    const int status = process.wait(kLimit);
    return {status, process.out(), process.err()};
  }

  std::string file(const std::string& text) const {
    const auto path = folder_.path() / "stock.csv";
    std::ofstream(path) << text;
    return path.string();
  }

  static void expect(const Said& said, int status, const std::string& text) {
    const auto all = said.out + said.err;
    CPPUNIT_ASSERT_EQUAL_MESSAGE(all, status, said.status);
    CPPUNIT_ASSERT_MESSAGE(text + " is missing in:\n" + all, all.find(text) != std::string::npos);
  }

 public:
  void a_plan_of_migration_applies_nothing() {
    // Somebody looks before a release; looking must not be releasing.
    expect(penstock({"migrate", "--plan"}), 0, "pending 001_orders");
    expect(penstock({"migrate", "--plan"}), 0, "pending 001_orders");
    expect(penstock({"migrate"}), 0, "applied 001_orders");
    expect(penstock({"migrate"}), 0, "which is the newest");
  }

  void the_same_stock_file_twice_changes_nothing() {
    // People press the up arrow.
    const auto path = file(kHeader + "9007199254740993,Mug,5,900,EUR\n");
    expect(penstock({"stock", "load", path}), 0, "1 stock rows added");
    expect(penstock({"stock", "load", path}), 0,
           "0 stock rows added, 0 products changed, 1 stock rows unchanged");
    expect(penstock({"stock", "show"}), 0, "9007199254740993: initial 5, adjusted 0, free 5");
    file(kHeader + "9007199254740993,Mug,6,900,EUR\n");
    expect(penstock({"stock", "load", path}), 2, "stock.csv:2: ");
    expect(penstock({"stock", "show"}), 0, "initial 5");
  }

  void a_dry_run_writes_nothing() {
    // It is for files that somebody is not sure about.
    expect(penstock({"stock", "load", file(kHeader + "p,Mug,5,900,EUR\n"), "--dry-run"}), 0,
           "dry run, nothing written");
    expect(penstock({"stock", "show"}), 0, "no stock is loaded");
  }

  void a_stock_file_with_problems_writes_nothing_and_names_every_line() {
    // Half a file would be half a sale.
    const auto said =
        penstock({"stock", "load", file(kHeader + "good,Mug,5,900,EUR\nbad,Mug,-5,900,EUR\nworse,Mug,5\n")});
    expect(said, 2, "stock.csv:3: quantity: found \"-5\"");
    expect(said, 2, "stock.csv:4: found 3 fields");
    expect(said, 2, "2 problems; nothing was written");
    expect(penstock({"stock", "show"}), 0, "no stock is loaded");
    expect(penstock({"stock", "load", (folder_.path() / "missing.csv").string()}), 2,
           "missing.csv: cannot be read");
  }

  void an_unknown_order_is_an_answer_of_no() {
    // Scripts tell "no" from "it did not work" by the exit status.
    expect(penstock({"orders", "show", "nobody"}), 1, "no order \"nobody\"");
    expect(penstock({"dead", "replay", "penstock.order.lock", "nobody"}), 1, "never declared");
    expect(penstock({"audit"}), 0, "books balanced");
    expect(penstock({"health"}), 3, "operator listener");
  }

  void commands_say_what_they_do_not_understand() {
    // And do nothing before they understood all of it.
    expect(penstock({"dead", "list", "penstock.order.lok"}), 2, "allowed penstock.order.lock");
    expect(penstock({"dead", "list", "--limit", "many"}), 2, "--limit: found \"many\"");
    expect(penstock({"dead", "drop", "penstock.order.lock", "x"}), 2, "--yes");
    expect(penstock({"health", "--wait", "-1"}), 2, "--wait");
    expect(penstock({"stock", "lod", "x"}), 2, "stock load");
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OperatorCommandsTest);

}  // namespace
}  // namespace penstock::orders_test
