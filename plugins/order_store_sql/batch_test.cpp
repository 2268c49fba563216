#include "order_store_sql/batch.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace penstock::order_store_sql {

class BatchTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(BatchTest);
  CPPUNIT_TEST(a_batch_without_repeats_is_one_round);
  CPPUNIT_TEST(repeats_go_to_later_rounds_in_their_order);
  CPPUNIT_TEST(a_bad_item_does_not_fail_its_neighbours);
  CPPUNIT_TEST(a_database_that_is_away_is_not_asked_once_per_item);
  CPPUNIT_TEST_SUITE_END();

  using Positions = std::vector<std::vector<std::size_t>>;
  using Batch = Result<std::vector<Result<int>>>;

 public:
  void a_batch_without_repeats_is_one_round() {
    // The usual case must cost one set of statements.
    Rounds rounds;
    rounds.add({"a", "x"});
    rounds.add({"b", "y"});
    CPPUNIT_ASSERT((rounds.positions() == Positions{{0, 1}}));
  }

  void repeats_go_to_later_rounds_in_their_order() {
    // A repeat must see what the item before it wrote, whichever of its keys they share.
    Rounds rounds;
    rounds.add({"a", "x"});
    rounds.add({"b", "x"});
    rounds.add({"c", "z"});
    rounds.add({"b", "w"});
    rounds.add({"a", "x"});
    CPPUNIT_ASSERT((rounds.positions() == Positions{{0, 2}, {1}, {3, 4}}));
  }

  void a_bad_item_does_not_fail_its_neighbours() {
    // One order with a broken row would else block its whole batch for ever.
    int calls = 0;
    const std::vector<int> items{1, 2, 3};
    const auto answers = run_batch<int>(std::span<const int>(items), [&](std::span<const int> part) -> Batch {
      ++calls;
      for (const int item : part) {
        if (item == 2) return Error{ErrorCode::Corrupt, "broken"};
      }
      return std::vector<Result<int>>(part.begin(), part.end());
    });
    CPPUNIT_ASSERT_EQUAL(4, calls);
    CPPUNIT_ASSERT(*answers[0] == 1 && *answers[2] == 3);
    CPPUNIT_ASSERT(answers[1].error().code == ErrorCode::Corrupt);
  }

  void a_database_that_is_away_is_not_asked_once_per_item() {
    // 500 items times one time-out is an hour.
    int calls = 0;
    const std::vector<int> items{1, 2, 3};
    const auto answers = run_batch<int>(std::span<const int>(items), [&](std::span<const int>) -> Batch {
      ++calls;
      return Error{ErrorCode::UnknownOutcome, "lost"};
    });
    CPPUNIT_ASSERT_EQUAL(1, calls);
    for (const auto& answer : answers) CPPUNIT_ASSERT(answer.error().code == ErrorCode::UnknownOutcome);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BatchTest);

}  // namespace penstock::order_store_sql
