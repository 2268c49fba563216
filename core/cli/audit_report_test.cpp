#include "cli/audit_report.hpp"

#include "penstock/json.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace penstock::cli {

using orders::BookDifference;
using orders::Books;
using orders::OrderStatus;
using orders::Sku;

class AuditReportTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(AuditReportTest);
  CPPUNIT_TEST(a_gate_that_agrees_makes_no_difference);
  CPPUNIT_TEST(every_way_to_disagree_is_named);
  CPPUNIT_TEST(the_last_line_says_whether_the_books_balance);
  CPPUNIT_TEST(json_carries_every_term);
  CPPUNIT_TEST(a_gate_page_that_is_not_ours_is_refused);
  CPPUNIT_TEST_SUITE_END();

 public:
  void a_gate_that_agrees_makes_no_difference() {
    // Its holds are what the books call held and locked; sold units have left it.
    CPPUNIT_ASSERT(compare(books(), {{Sku("p"), 60, 30}}).empty());
  }

  void every_way_to_disagree_is_named() {
    // The kind is what people search the runbook for.
    expect(compare(books(), {{Sku("p"), 61, 30}}), "gate_free", "p");
    expect(compare(books(), {{Sku("p"), 60, 29}}), "gate_held", "p");
    expect(compare(books(), {}), "gate_missing", "p");
    expect(compare(books(), {{Sku("p"), 60, 30}, {Sku("q"), 1, 0}}), "gate_unknown", "q");
  }

  void the_last_line_says_whether_the_books_balance() {
    // Scripts and people read this line first.
    AuditReport report{books(), std::nullopt, "not compared: nobody answers"};
    const auto good = to_text(report);
    CPPUNIT_ASSERT_MESSAGE(good, good.ends_with("\nbooks balanced\n"));
    CPPUNIT_ASSERT_MESSAGE(good, good.find("gate: not compared: nobody answers") != std::string::npos);

    report.books.differences.push_back({"locked_rows", "p", "the counter says 20, the rows say 19"});
    const auto bad = to_text(report);
    CPPUNIT_ASSERT_MESSAGE(
        bad, bad.ends_with("\nbooks DO NOT balance: 1 difference, the first is locked_rows p\n"));
    CPPUNIT_ASSERT_MESSAGE(bad, bad.find("the counter says 20, the rows say 19") != std::string::npos);
  }

  void json_carries_every_term() {
    // Fault tests and monitoring hold these figures against their own.
    const auto parsed = json::parse(to_json({books(), std::vector<GateFigures>{{Sku("p"), 60, 30}}, ""}));
    CPPUNIT_ASSERT(parsed.ok());
    CPPUNIT_ASSERT(*parsed->find("balanced")->as_bool());
    const auto& sku = parsed->find("skus")->as_array()->at(0);
    const auto is = [&](const char* key, std::int64_t value) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(key, value, *sku.find(key)->as_integer());
    };
    is("initial", 101);
    is("adjustments", -1);
    is("free", 60);
    is("held", 10);
    is("locked", 20);
    is("sold", 10);
    is("imbalance", 0);
    is("gateFree", 60);
    is("gateHeld", 30);
    CPPUNIT_ASSERT_EQUAL(std::int64_t{7}, *parsed->find("orders")->find("PAID")->as_integer());
    CPPUNIT_ASSERT(parsed->find("differences")->as_array()->empty());
  }

  void a_gate_page_that_is_not_ours_is_refused() {
    // Another program on the operator port must not pass for an empty gate.
    CPPUNIT_ASSERT_EQUAL(std::size_t{1},
                         parse_gate(R"({"skus":[{"productId":"p","free":1,"held":2}]})")->size());
    for (const char* body :
         {"<html>", "{}", R"({"skus":[{"productId":"p","free":"1","held":2}]})", R"({"skus":[7]})"}) {
      CPPUNIT_ASSERT_MESSAGE(body, !parse_gate(body).ok());
    }
  }

 private:
  static Books books() {
    Books books;
    books.skus.push_back({.sku = Sku("p"),
                          .initial = 101,
                          .adjustments = -1,
                          .available = 70,
                          .held = 10,
                          .locked = 20,
                          .sold = 10,
                          .locked_rows = 20,
                          .sold_rows = 10});
    books.orders[OrderStatus::Paid] = 7;
    return books;
  }

  static void expect(const std::vector<BookDifference>& differences, const std::string& kind,
                     const std::string& subject) {
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, differences.size());
    CPPUNIT_ASSERT_EQUAL(kind, differences[0].kind);
    CPPUNIT_ASSERT_EQUAL(subject, differences[0].subject);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(AuditReportTest);

}  // namespace penstock::cli
