#include "cli/stock_file.hpp"

#include "penstock/testkit/temp_dir.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <fstream>

namespace penstock::cli {

class StockFileTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StockFileTest);
  CPPUNIT_TEST(every_column_is_read);
  CPPUNIT_TEST(left_out_columns_take_their_documented_defaults);
  CPPUNIT_TEST(all_problems_are_reported_with_their_lines);
  CPPUNIT_TEST(a_header_with_unknown_or_missing_columns_is_refused);
  CPPUNIT_TEST(rows_of_one_product_must_agree);
  CPPUNIT_TEST(line_numbers_survive_quoted_line_breaks);
  CPPUNIT_TEST(text_that_is_not_csv_is_refused);
  CPPUNIT_TEST(an_unreadable_file_is_an_error_with_its_path);
  CPPUNIT_TEST_SUITE_END();

 public:
  void every_column_is_read() {
    // The sale's terms decide who may buy: a column read wrongly sells wrongly.
    const auto file = parse_stock_file(
        "product,name,warehouse,quantity,price_minor,currency,starts_at,ends_at,limit_per_user,max_per_order,"
        "pay_within_seconds\r\n"
        "9007199254740993,\"Shoe, "
        "\"\"red\"\"\",W1,100,1999,EUR,2026-12-01T10:00:00Z,2026-12-01T12:00:00Z,2,1,30\r\n");
    CPPUNIT_ASSERT(file.problems.empty());
    const auto& row = file.rows.at(0);
    CPPUNIT_ASSERT_EQUAL(std::string("9007199254740993"), row.sku.str());
    CPPUNIT_ASSERT_EQUAL(std::string("Shoe, \"red\""), row.name);
    CPPUNIT_ASSERT_EQUAL(std::string("W1"), row.warehouse.str());
    CPPUNIT_ASSERT_EQUAL(std::int64_t{100}, row.quantity);
    CPPUNIT_ASSERT_EQUAL(std::int64_t{1999}, row.price_minor);
    CPPUNIT_ASSERT_EQUAL(std::int64_t{1796119200000},
                         static_cast<std::int64_t>(row.terms.starts_at->time_since_epoch().count()));
    CPPUNIT_ASSERT(*row.terms.ends_at - *row.terms.starts_at == std::chrono::hours(2));
    CPPUNIT_ASSERT_EQUAL(std::int64_t{2}, *row.terms.limit_per_user);
    CPPUNIT_ASSERT_EQUAL(std::int64_t{1}, *row.terms.max_per_order);
    CPPUNIT_ASSERT(row.pay_within == std::chrono::seconds(30));
  }

  void left_out_columns_take_their_documented_defaults() {
    // Most shops load five columns.
    const auto file = parse_stock_file(kHeader + "p,Mug,5,900,EUR\n");
    CPPUNIT_ASSERT(file.problems.empty());
    const auto& row = file.rows.at(0);
    CPPUNIT_ASSERT_EQUAL(std::string("MAIN"), row.warehouse.str());
    CPPUNIT_ASSERT(row.terms == orders::SaleTerms{});
    CPPUNIT_ASSERT(row.pay_within == std::chrono::seconds(600));
  }

  void all_problems_are_reported_with_their_lines() {
    // Somebody fixes a file once, not once per error.
    const auto file =
        parse_stock_file(kHeader + "good,Mug,5,900,EUR\n" + "bad id,Mug,5,900,EUR\n" +
                         "p1,Mug,-5,9.00,eur\n" + "p2,Mug,5\n" + "p3,Mug,99999999999999999999,1,EUR\n");
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, file.rows.size());
    expect(file, 3, "product: found \"bad id\"");
    expect(file, 4, "quantity: found \"-5\"");
    expect(file, 4, "price_minor: found \"9.00\"");
    expect(file, 4, "currency: found \"eur\"");
    expect(file, 5, "found 3 fields, needed 5");
    expect(file, 6, "quantity");
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, file.problems.size());
  }

  void a_header_with_unknown_or_missing_columns_is_refused() {
    // A misspelt column would silently take its default.
    const auto file = parse_stock_file("product,name,quantity,currency,limit_per_usr\np,Mug,5,EUR,1\n");
    CPPUNIT_ASSERT(file.rows.empty());
    expect(file, 1, "unknown column \"limit_per_usr\"");
    expect(file, 1, "the column price_minor is missing");
    expect(parse_stock_file(""), 1, "empty");
    expect(parse_stock_file(kHeader), 2, "no rows");
  }

  void rows_of_one_product_must_agree() {
    // One product has one price, wherever it lies.
    const auto file = parse_stock_file(
        "product,name,warehouse,quantity,price_minor,currency\n"
        "p,Mug,W1,5,900,EUR\n"
        "p,Mug,W2,7,900,EUR\n"
        "p,Mug,W3,7,901,EUR\n"
        "p,Mug,W1,5,900,EUR\n");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, file.problems.size());
    expect(file, 4, "differs from line 2");
    expect(file, 5, "stands on line 2 already");
  }

  void line_numbers_survive_quoted_line_breaks() {
    // The number must be the one that the editor shows.
    const auto file = parse_stock_file(kHeader + "p,\"two words\",5,900,EUR\n" + "q,\"a\nb\",x,900,EUR\n" +
                                       "r,Mug,y,9,EUR\n");
    expect(file, 5, "quantity: found \"y\"");
  }

  void text_that_is_not_csv_is_refused() {
    // A half quoted field swallows the rest of the file.
    expect(parse_stock_file(kHeader + "p,Mug,5,900,EUR\nq,\"Mug,5,900,EUR\n"), 3, "not CSV");
    expect(parse_stock_file(kHeader + "p,M\"u\"g,5,900,EUR\n"), 2, "not CSV");
  }

  void an_unreadable_file_is_an_error_with_its_path() {
    // The operator sees which path was meant.
    const testkit::TempDir folder;
    for (const auto& path : {folder.path() / "missing.csv", folder.path()}) {
      const auto file = read_stock_file(path);
      CPPUNIT_ASSERT(!file.ok());
      CPPUNIT_ASSERT(file.error().message.find(path.string()) != std::string::npos);
    }
    std::ofstream(folder.path() / "empty.csv").flush();
    const auto empty = read_stock_file(folder.path() / "empty.csv");
    CPPUNIT_ASSERT(empty.ok());
    expect(*empty, 1, "empty");
  }

 private:
  inline static const std::string kHeader = "product,name,quantity,price_minor,currency\n";

  static void expect(const StockFile& file, int line, const std::string& text) {
    std::string all;
    for (const auto& problem : file.problems) {
      if (problem.line == line && problem.message.find(text) != std::string::npos) return;
      all += std::to_string(problem.line) + ": " + problem.message + "\n";
    }
    CPPUNIT_FAIL("no problem on line " + std::to_string(line) + " about " + text + "; found:\n" + all);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(StockFileTest);

}  // namespace penstock::cli
