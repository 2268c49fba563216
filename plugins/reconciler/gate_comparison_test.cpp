#include "reconciler/gate_comparison.hpp"

#include "penstock/testkit/fake_context.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace {

using namespace penstock;
using namespace penstock::orders;
using reconciler::GateComparison;

class GateComparisonTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(GateComparisonTest);
  CPPUNIT_TEST(orders_on_their_way_are_no_difference);
  CPPUNIT_TEST(what_stays_is_reported_by_kind);
  CPPUNIT_TEST(what_is_mended_is_no_longer_reported);
  CPPUNIT_TEST(new_skus_and_new_terms_are_missing_at_the_gate);
  CPPUNIT_TEST_SUITE_END();

  using Gate = std::vector<SkuSnapshot>;
  using Books = std::vector<GateSku>;

  testkit::FakeContext context_;
  GateComparison comparison_{context_};

  double reported(const std::string& kind) {
    return context_.metrics().value("penstock_reconcile_differences{kind=\"" + kind + "\"}");
  }

 public:
  void orders_on_their_way_are_no_difference() {
    // An alert that cries at every order in flight is switched off, and then the real one is missed.
    const std::pair<int, int> figures[] = {{5, 7}, {3, 5}, {4, 4}, {2, 5}, {5, 7}};  // gate, books
    for (const auto& [gate, books] : figures) {
      comparison_.compare(Gate{{Sku("A"), gate, 0, {}}}, Books{{Sku("A"), books, {}}});
      CPPUNIT_ASSERT_EQUAL(0.0, reported("free_too_low"));
    }
  }

  void what_stays_is_reported_by_kind() {
    // Too low loses sales, too high breaks promises: they call for different people.
    const Gate gate{{Sku("A"), 5, 0, {}}, {Sku("B"), 5, 0, {}}, {Sku("C"), 5, 0, {}}, {Sku("E"), 5, 0, {}}};
    const Books books{{Sku("A"), 7, {}}, {Sku("B"), 4, {}}, {Sku("D"), 1, {}}, {Sku("E"), 5, {}}};
    comparison_.compare(gate, books);
    comparison_.compare(gate, books);
    for (const auto* kind : {"free_too_low", "free_too_high", "missing_sku", "unknown_sku"}) {
      CPPUNIT_ASSERT_EQUAL(1.0, reported(kind));
    }
    CPPUNIT_ASSERT(context_.logger().contains(
        "gate_differs_from_books kind=free_too_low sku=A gate_free=5 books_free=7"));
  }

  void what_is_mended_is_no_longer_reported() {
    // A gauge that stays up hides the next difference.
    const Books books{{Sku("A"), 7, {}}};
    for (int i = 0; i < 2; ++i) comparison_.compare(Gate{{Sku("A"), 5, 0, {}}}, books);
    CPPUNIT_ASSERT_EQUAL(1.0, reported("free_too_low"));
    comparison_.compare(Gate{{Sku("A"), 7, 0, {}}}, books);
    CPPUNIT_ASSERT_EQUAL(0.0, reported("free_too_low"));
  }

  void new_skus_and_new_terms_are_missing_at_the_gate() {
    // A product loaded into a running shop must go on sale, and a changed limit must hold, without a restart.
    const SaleTerms one_each{{}, {}, 1, {}};
    const Gate gate{{Sku("A"), 5, 0, {}}, {Sku("B"), 5, 0, {}}};
    const Books books{{Sku("A"), 4, {}}, {Sku("B"), 5, one_each}, {Sku("C"), 9, {}}};
    const auto missing = reconciler::missing_at_gate(gate, books);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), missing.size());
    CPPUNIT_ASSERT_EQUAL(std::string("B"), missing[0].sku.str());
    CPPUNIT_ASSERT(missing[0].terms == one_each);
    CPPUNIT_ASSERT_EQUAL(std::string("C"), missing[1].sku.str());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(GateComparisonTest);

}  // namespace
