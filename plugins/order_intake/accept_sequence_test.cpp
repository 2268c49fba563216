#include "order_intake/accept_sequence.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_order_store.hpp"
#include "penstock/testkit/fake_stock_gate.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <cstdlib>
#include <map>

namespace {

using namespace penstock;
using namespace penstock::orders;
using namespace penstock::order_intake;

NewOrder order(const std::string& user, const std::string& request, std::int64_t quantity = 1) {
  return {OrderNo(),
          UserId(user),
          RequestId(request),
          BodyHash("h" + std::to_string(quantity)),
          {{Sku("p"), quantity}},
          "trace"};
}

// A gate that remembers who has which number, as a real one does.
void remember_requests(testkit::FakeStockGate& gate, std::map<std::string, ReserveRequest>& holds) {
  gate.on_reserve = [&](const ReserveRequest& request) -> Result<ReserveAnswer> {
    const auto [known, is_new] = holds.try_emplace(request.user.str() + "/" + request.request.str(), request);
    if (is_new) return ReserveAnswer{ReserveOutcome::Reserved, request.order_no, {}};
    if (known->second.body != request.body) return ReserveAnswer{ReserveOutcome::KeyReused, {}, {}};
    return ReserveAnswer{ReserveOutcome::Replayed, known->second.order_no, {}};
  };
  gate.on_release = [&](const ReleaseRequest& release) -> Result<ReleaseOutcome> {
    const auto erased =
        std::erase_if(holds, [&](const auto& hold) { return hold.second.order_no == release.order_no; });
    return erased ? ReleaseOutcome::Released : ReleaseOutcome::NothingHeld;
  };
}

class AcceptSequenceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(AcceptSequenceTest);
  CPPUNIT_TEST(a_new_order_is_held_and_committed_under_one_number);
  CPPUNIT_TEST(every_refusal_of_the_gate_has_its_own_answer_and_commits_nothing);
  CPPUNIT_TEST(refusals_are_answered_before_the_commit);
  CPPUNIT_TEST(thirty_same_requests_in_one_batch_make_one_row_and_one_number);
  CPPUNIT_TEST(a_repeat_is_accepted_under_the_number_it_got_before);
  CPPUNIT_TEST(a_reused_key_in_the_same_batch_is_refused);
  CPPUNIT_TEST(a_request_accepted_before_under_another_number_gives_its_hold_back);
  CPPUNIT_TEST(a_key_that_only_the_store_remembers_is_refused_and_its_hold_undone);
  CPPUNIT_TEST(a_number_given_up_meanwhile_is_tried_once_more_under_a_new_one);
  CPPUNIT_TEST(a_number_given_up_twice_is_not_tried_for_ever);
  CPPUNIT_TEST(a_definite_failure_undoes_the_hold_before_the_answer);
  CPPUNIT_TEST(a_definite_failure_of_a_repeat_keeps_the_older_hold);
  CPPUNIT_TEST(an_unknown_outcome_keeps_the_hold);
  CPPUNIT_TEST(a_defect_of_the_store_keeps_the_hold);
  CPPUNIT_TEST(a_product_that_the_books_do_not_know_is_refused_and_its_hold_undone);
  CPPUNIT_TEST(one_failing_order_leaves_its_neighbours_alone);
  CPPUNIT_TEST(a_gate_that_is_away_is_no_refusal);
  CPPUNIT_TEST(a_hold_that_cannot_be_undone_is_reported_and_left_to_the_reconciler);
  CPPUNIT_TEST(every_outcome_of_the_store_is_counted);
  CPPUNIT_TEST(failing_after_the_reserve_undoes_the_hold);
  CPPUNIT_TEST(failing_after_the_commit_keeps_the_hold);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeContext context_;
  testkit::FakeStockGate gate_;
  testkit::FakeOrderStore store_;
  std::map<std::size_t, IntakeAnswer> answers_;

 public:
  void tearDown() override { arm(""); }

  void a_new_order_is_held_and_committed_under_one_number() {
    // Hold and row must carry the same number, or nobody can ever match them.
    run({order("u", "r", 2)});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::Accepted);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, gate_.reserved().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, store_.accepted().size());
    const auto row = store_.accepted()[0];
    CPPUNIT_ASSERT(row.order_no == gate_.reserved()[0].order_no);
    CPPUNIT_ASSERT(row.order_no == answers_[0].order_no);
    CPPUNIT_ASSERT_EQUAL(std::string("u"), row.user.str());
    CPPUNIT_ASSERT_EQUAL(std::string("r"), row.request.str());
    CPPUNIT_ASSERT_EQUAL(std::string("h2"), row.body.str());
    CPPUNIT_ASSERT_EQUAL(std::string("trace"), row.trace);
    CPPUNIT_ASSERT(row.lines == std::vector<Line>({{Sku("p"), 2}}));
    CPPUNIT_ASSERT(gate_.released().empty());
  }

  void every_refusal_of_the_gate_has_its_own_answer_and_commits_nothing() {
    // A client told "sold out" while the gate is only not loaded would never come back.
    const std::pair<ReserveOutcome, IntakeOutcome> table[] = {
        {ReserveOutcome::KeyReused, IntakeOutcome::KeyReused},
        {ReserveOutcome::OutOfStock, IntakeOutcome::OutOfStock},
        {ReserveOutcome::LimitExceeded, IntakeOutcome::LimitExceeded},
        {ReserveOutcome::NotStarted, IntakeOutcome::NotStarted},
        {ReserveOutcome::Ended, IntakeOutcome::Ended},
        {ReserveOutcome::NotLoaded, IntakeOutcome::NotLoaded},
        {ReserveOutcome::StaleEpoch, IntakeOutcome::NotLoaded}};
    for (const auto& [gate_says, client_hears] : table) {
      gate_.on_reserve = [&](const ReserveRequest&) { return ReserveAnswer{gate_says, {}, Sku("p")}; };
      run({order("u", "r")});
      CPPUNIT_ASSERT_MESSAGE(std::string(to_string(gate_says)), outcome(0) == client_hears);
      CPPUNIT_ASSERT_EQUAL(std::string("p"), answers_[0].sku.str());
    }
    CPPUNIT_ASSERT(store_.accepted().empty());
    CPPUNIT_ASSERT(gate_.released().empty());
  }

  void refusals_are_answered_before_the_commit() {
    // The crowd that gets nothing must not wait for the disk.
    gate_.on_reserve = [](const ReserveRequest& request) {
      if (request.user.str() == "late") return ReserveAnswer{ReserveOutcome::OutOfStock, {}, Sku("p")};
      return ReserveAnswer{ReserveOutcome::Reserved, request.order_no, {}};
    };
    bool refused_by_then = false;
    store_.on_accept = [&](const NewOrder& accepted) {
      refused_by_then = answers_.contains(1) && !answers_.contains(0);
      return AcceptAnswer{AcceptOutcome::Accepted, accepted.order_no};
    };
    run({order("early", "r"), order("late", "r")});
    CPPUNIT_ASSERT(refused_by_then);
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::Accepted);
  }

  void thirty_same_requests_in_one_batch_make_one_row_and_one_number() {
    // A buyer who presses thirty times buys once, and hears so thirty times, after the commit.
    std::map<std::string, ReserveRequest> holds;
    remember_requests(gate_, holds);
    bool nobody_answered_yet = false;
    store_.on_accept = [&](const NewOrder& accepted) {
      nobody_answered_yet = answers_.empty();
      return AcceptAnswer{AcceptOutcome::Accepted, accepted.order_no};
    };
    run(std::vector<NewOrder>(30, order("u", "r")));
    CPPUNIT_ASSERT(nobody_answered_yet);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, store_.accepted().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{30}, answers_.size());
    for (const auto& [place, answer] : answers_) {
      CPPUNIT_ASSERT(answer.outcome == IntakeOutcome::Accepted);
      CPPUNIT_ASSERT(answer.order_no == store_.accepted()[0].order_no);
    }
  }

  void a_repeat_is_accepted_under_the_number_it_got_before() {
    // The repeat finishes what a crash between hold and commit left open.
    gate_.on_reserve = [](const ReserveRequest&) {
      return ReserveAnswer{ReserveOutcome::Replayed, OrderNo("earlier"), {}};
    };
    run({order("u", "r")});
    CPPUNIT_ASSERT_EQUAL(std::string("earlier"), store_.accepted()[0].order_no.str());
    CPPUNIT_ASSERT_EQUAL(std::string("earlier"), answers_[0].order_no.str());

    store_.on_accept = [](const NewOrder& row) {
      return AcceptAnswer{AcceptOutcome::Duplicate, row.order_no};
    };
    run({order("u", "r")});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::Accepted);
    CPPUNIT_ASSERT_EQUAL(std::string("earlier"), answers_[0].order_no.str());
    CPPUNIT_ASSERT(gate_.released().empty());
  }

  void a_reused_key_in_the_same_batch_is_refused() {
    // Same key, other wish: neither may quietly become the other.
    std::map<std::string, ReserveRequest> holds;
    remember_requests(gate_, holds);
    run({order("u", "r", 1), order("u", "r", 2), order("v", "r", 2)});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::Accepted);
    CPPUNIT_ASSERT(outcome(1) == IntakeOutcome::KeyReused);
    CPPUNIT_ASSERT(outcome(2) == IntakeOutcome::Accepted);
    CPPUNIT_ASSERT(answers_[0].order_no != answers_[2].order_no);
  }

  void a_request_accepted_before_under_another_number_gives_its_hold_back() {
    // The gate forgot, the database did not: the new hold must not stay for ever.
    store_.on_accept = [](const NewOrder&) {
      return AcceptAnswer{AcceptOutcome::Duplicate, OrderNo("first")};
    };
    run({order("u", "r", 3)});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::Accepted);
    CPPUNIT_ASSERT_EQUAL(std::string("first"), answers_[0].order_no.str());
    assert_undone_once();
    CPPUNIT_ASSERT(gate_.released()[0].lines == std::vector<Line>({{Sku("p"), 3}}));
  }

  void a_key_that_only_the_store_remembers_is_refused_and_its_hold_undone() {
    // The same, for a key that was used for another wish.
    store_.on_accept = [](const NewOrder&) {
      return AcceptAnswer{AcceptOutcome::KeyReused, OrderNo("first")};
    };
    run({order("u", "r")});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::KeyReused);
    assert_undone_once();
  }

  void a_number_given_up_meanwhile_is_tried_once_more_under_a_new_one() {
    // The reconciler may give up an old hold just before its buyer comes back; the buyer still buys.
    std::map<std::string, ReserveRequest> holds;
    remember_requests(gate_, holds);
    auto old =
        ReserveRequest{OrderNo("given-up"), UserId("u"), RequestId("r"), BodyHash("h1"), {{Sku("p"), 1}}};
    holds.emplace("u/r", old);
    store_.on_accept = [](const NewOrder& row) {
      if (row.order_no.str() == "given-up") return AcceptAnswer{AcceptOutcome::Abandoned, {}};
      return AcceptAnswer{AcceptOutcome::Accepted, row.order_no};
    };
    run({order("u", "r"), order("u", "r")});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::Accepted);
    CPPUNIT_ASSERT(outcome(1) == IntakeOutcome::Accepted);
    CPPUNIT_ASSERT(answers_[0].order_no == answers_[1].order_no);
    CPPUNIT_ASSERT(answers_[0].order_no.str() != "given-up");
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, gate_.released().size());
    CPPUNIT_ASSERT_EQUAL(std::string("given-up"), gate_.released()[0].order_no.str());
    CPPUNIT_ASSERT_EQUAL(std::string("trace"), store_.accepted()[1].trace);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, holds.size());
  }

  void a_number_given_up_twice_is_not_tried_for_ever() {
    // A loop here would stop every other buyer.
    store_.on_accept = [](const NewOrder&) { return AcceptAnswer{AcceptOutcome::Abandoned, {}}; };
    run({order("u", "r")});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::DependencyDown);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, store_.accepted().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, gate_.released().size());
  }

  void a_definite_failure_undoes_the_hold_before_the_answer() {
    // A buyer who is told to come back must find the unit free again.
    for (const auto code :
         {ErrorCode::Unavailable, ErrorCode::Timeout, ErrorCode::Overloaded, ErrorCode::Closed}) {
      store_.on_accept = [&](const NewOrder&) -> Result<AcceptAnswer> { return Error{code, "away"}; };
      bool answered_too_early = false;
      gate_.on_release = [&](const ReleaseRequest&) {
        answered_too_early = !answers_.empty();
        return ReleaseOutcome::Released;
      };
      const auto before = gate_.released().size();
      run({order("u", "r")});
      CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::DependencyDown);
      CPPUNIT_ASSERT_EQUAL(before + 1, gate_.released().size());
      CPPUNIT_ASSERT(gate_.released().back().kind == ReleaseKind::Undone);
      CPPUNIT_ASSERT(!answered_too_early);
    }
  }

  void a_definite_failure_of_a_repeat_keeps_the_older_hold() {
    // Its first accept may have been committed without anybody knowing.
    gate_.on_reserve = [](const ReserveRequest&) {
      return ReserveAnswer{ReserveOutcome::Replayed, OrderNo("earlier"), {}};
    };
    store_.on_accept = [](const NewOrder&) -> Result<AcceptAnswer> {
      return Error{ErrorCode::Unavailable, "away"};
    };
    run({order("u", "r")});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::DependencyDown);
    CPPUNIT_ASSERT(gate_.released().empty());
  }

  void an_unknown_outcome_keeps_the_hold() {
    // Releasing on a guess could sell the unit of a committed order again.
    store_.on_accept = [](const NewOrder&) -> Result<AcceptAnswer> {
      return Error{ErrorCode::UnknownOutcome, "lost"};
    };
    run({order("u", "r")});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::OutcomeUnknown);
    CPPUNIT_ASSERT(gate_.released().empty());
  }

  void a_defect_of_the_store_keeps_the_hold() {
    // Nobody knows what a broken store has written.
    for (const auto code : {ErrorCode::Internal, ErrorCode::Corrupt}) {
      store_.on_accept = [&](const NewOrder&) -> Result<AcceptAnswer> { return Error{code, "broken"}; };
      run({order("u", "r")});
      CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::Failed);
    }
    CPPUNIT_ASSERT(gate_.released().empty());
  }

  void a_product_that_the_books_do_not_know_is_refused_and_its_hold_undone() {
    // The gate alone cannot sell: without books there is no price.
    store_.on_accept = [](const NewOrder&) { return AcceptAnswer{AcceptOutcome::UnknownSku, {}}; };
    run({order("u", "r")});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::UnknownProduct);
    assert_undone_once();
  }

  void one_failing_order_leaves_its_neighbours_alone() {
    // One bad item must never fail its neighbours.
    store_.on_accept = [](const NewOrder& row) -> Result<AcceptAnswer> {
      if (row.user.str() == "u2") return Error{ErrorCode::Unavailable, "one bad row"};
      return AcceptAnswer{AcceptOutcome::Accepted, row.order_no};
    };
    run({order("u1", "r"), order("u2", "r"), order("u3", "r"), order("u4", "r"), order("u5", "r")});
    for (const std::size_t place : {0, 2, 3, 4}) CPPUNIT_ASSERT(outcome(place) == IntakeOutcome::Accepted);
    CPPUNIT_ASSERT(outcome(1) == IntakeOutcome::DependencyDown);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, gate_.released().size());
    CPPUNIT_ASSERT(gate_.released()[0].order_no == gate_.reserved()[1].order_no);
  }

  void a_gate_that_is_away_is_no_refusal() {
    // The buyer must come back with the same request, not give up.
    const std::pair<ErrorCode, IntakeOutcome> table[] = {
        {ErrorCode::Unavailable, IntakeOutcome::DependencyDown},
        {ErrorCode::UnknownOutcome, IntakeOutcome::OutcomeUnknown},
        {ErrorCode::NotLoaded, IntakeOutcome::NotLoaded},
        {ErrorCode::Internal, IntakeOutcome::Failed}};
    for (const auto& [code, expected] : table) {
      gate_.on_reserve = [&](const ReserveRequest&) -> Result<ReserveAnswer> { return Error{code, "gate"}; };
      run({order("u", "r")});
      CPPUNIT_ASSERT_MESSAGE(std::string(to_string(code)), outcome(0) == expected);
    }
    CPPUNIT_ASSERT(store_.accepted().empty());
  }

  void a_hold_that_cannot_be_undone_is_reported_and_left_to_the_reconciler() {
    // The client's answer does not depend on it: the hold is evidence that will be found.
    store_.on_accept = [](const NewOrder&) -> Result<AcceptAnswer> {
      return Error{ErrorCode::Unavailable, "away"};
    };
    gate_.on_release = [](const ReleaseRequest&) -> Result<ReleaseOutcome> {
      return Error{ErrorCode::NotLoaded, "being rebuilt"};
    };
    run({order("u", "r")});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::DependencyDown);
    CPPUNIT_ASSERT(context_.logger().contains("warn intake_hold_not_undone"));
  }

  void every_outcome_of_the_store_is_counted() {
    // Accepted, duplicate and failed are different lines on the dashboard. Refusals are the gate's to count.
    gate_.on_reserve = [](const ReserveRequest& request) {
      if (request.user.str() == "late") return ReserveAnswer{ReserveOutcome::OutOfStock, {}, Sku("p")};
      return ReserveAnswer{ReserveOutcome::Reserved, request.order_no, {}};
    };
    run({order("early", "r"), order("late", "r"), order("late", "s")});
    const auto& metrics = context_.metrics();
    CPPUNIT_ASSERT_EQUAL(1.0, metrics.value("penstock_accepts_total{outcome=\"accepted\"}"));
    CPPUNIT_ASSERT_EQUAL(0.0, metrics.value("penstock_reservations_total{outcome=\"reserved\"}"));
  }

  void failing_after_the_reserve_undoes_the_hold() {
    // The window between hold and commit: nothing was written, so nothing may stay held.
    arm("intake.after_reserve=fail");
    run({order("u", "r")});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::DependencyDown);
    CPPUNIT_ASSERT(store_.accepted().empty());
    assert_undone_once();
  }

  void failing_after_the_commit_keeps_the_hold() {
    // The window between commit and answer: the order exists, only its buyer does not know.
    arm("intake.after_accept=fail");
    run({order("u", "r")});
    CPPUNIT_ASSERT(outcome(0) == IntakeOutcome::OutcomeUnknown);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, store_.accepted().size());
    CPPUNIT_ASSERT(gate_.released().empty());
  }

 private:
  static void arm(const char* points) {
    ::setenv("PENSTOCK_FAILPOINTS", points, 1);
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
  }

  void run(std::vector<NewOrder> batch) {
    OrderNoGenerator numbers(context_.clock(), context_.random());
    AcceptSequence sequence(gate_, store_, numbers, context_.metrics(), context_.logger());
    answers_.clear();
    sequence.run(batch, [this](std::size_t place, const IntakeAnswer& answer) {
      CPPUNIT_ASSERT_MESSAGE("answered twice", answers_.emplace(place, answer).second);
    });
    CPPUNIT_ASSERT_EQUAL(batch.size(), answers_.size());
  }

  IntakeOutcome outcome(std::size_t place) { return answers_.at(place).outcome; }

  void assert_undone_once() {
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, gate_.released().size());
    CPPUNIT_ASSERT(gate_.released()[0].kind == ReleaseKind::Undone);
    CPPUNIT_ASSERT(gate_.released()[0].order_no == gate_.reserved()[0].order_no);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(AcceptSequenceTest);

}  // namespace
