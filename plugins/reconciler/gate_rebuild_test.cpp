#include "reconciler/gate_rebuild.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_stock_books.hpp"
#include "penstock/testkit/fake_stock_gate.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <cstdlib>

namespace {

using namespace penstock;
using namespace penstock::orders;
using reconciler::GateRebuild;
using reconciler::GateRebuildSettings;

class GateRebuildTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(GateRebuildTest);
  CPPUNIT_TEST(the_first_rebuild_opens_the_gate_at_once);
  CPPUNIT_TEST(a_gate_that_was_open_is_closed_before_the_books_are_read);
  CPPUNIT_TEST(books_that_are_away_are_read_again_without_a_new_epoch);
  CPPUNIT_TEST(an_overtaken_rebuild_begins_anew);
  CPPUNIT_TEST(a_failure_before_the_installation_is_repeated);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeContext context_;
  testkit::FakeStockBooks books_;
  testkit::FakeStockGate gate_;
  int images_read_ = 0;
  GateRebuild rebuild_{GateRebuildSettings{}, books_, gate_, context_.logger()};

 public:
  void setUp() override {
    books_.on_gate_image = [this](std::size_t limit) {
      CPPUNIT_ASSERT_EQUAL(std::size_t(100'000), limit);
      ++images_read_;
      return GateImage{{{Sku("A"), 5, {}}}, {}, {}, {}};
    };
  }

  void tearDown() override {
    unsetenv("PENSTOCK_FAILPOINTS");
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
  }

  void the_first_rebuild_opens_the_gate_at_once() {
    // Every moment of the start is a moment of 503.
    CPPUNIT_ASSERT(*rebuild_.step() == Milliseconds(0));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate_.images().size());
    CPPUNIT_ASSERT_EQUAL(std::string("A"), gate_.images()[0].skus[0].sku.str());
  }

  void a_gate_that_was_open_is_closed_before_the_books_are_read() {
    // An order held by the old gate and not yet in the books would put its units on sale twice.
    rebuild_.gate_is_open();
    CPPUNIT_ASSERT(*rebuild_.step() == Milliseconds(1'000));
    CPPUNIT_ASSERT_EQUAL(1, gate_.rebuilds_begun());
    CPPUNIT_ASSERT_EQUAL(0, images_read_);
    CPPUNIT_ASSERT(*rebuild_.step() == Milliseconds(0));
    CPPUNIT_ASSERT_EQUAL(1, gate_.rebuilds_begun());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate_.images().size());
  }

  void books_that_are_away_are_read_again_without_a_new_epoch() {
    // A gate is never opened on a guess.
    books_.on_gate_image = [](std::size_t) -> Result<GateImage> {
      return Error{ErrorCode::Unavailable, "no database"};
    };
    CPPUNIT_ASSERT_EQUAL(std::string("no database"), rebuild_.step().error().message);
    CPPUNIT_ASSERT(gate_.images().empty());
    setUp();
    CPPUNIT_ASSERT(*rebuild_.step() == Milliseconds(0));
    CPPUNIT_ASSERT_EQUAL(1, gate_.rebuilds_begun());
  }

  void an_overtaken_rebuild_begins_anew() {
    // Of two rebuilds at once only the later one may open the gate.
    gate_.on_finish_rebuild = [](Epoch epoch, const GateImage&) -> Result<void> {
      if (epoch == 1) return Error{ErrorCode::Conflict, "a later rebuild has begun"};
      return {};
    };
    CPPUNIT_ASSERT(!rebuild_.step().ok());
    CPPUNIT_ASSERT(*rebuild_.step() == Milliseconds(0));
    CPPUNIT_ASSERT_EQUAL(2, gate_.rebuilds_begun());
  }

  void a_failure_before_the_installation_is_repeated() {
    // The window between reading the books and opening the gate: it stays closed, and comes back.
    setenv("PENSTOCK_FAILPOINTS", "reconciler.mid_rebuild=fail@1", 1);
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
    CPPUNIT_ASSERT(!rebuild_.step().ok());
    CPPUNIT_ASSERT(gate_.images().empty());
    CPPUNIT_ASSERT(rebuild_.step().ok());
    CPPUNIT_ASSERT_EQUAL(2, images_read_);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(GateRebuildTest);

}  // namespace
