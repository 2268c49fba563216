#include "penstock/testkit/stock_gate_contract.hpp"

#include <cppunit/TestAssert.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <random>
#include <thread>

namespace penstock::testkit {
namespace {

using namespace orders;
using namespace std::chrono_literals;

using Subject = StockGateSubject;

// Helpers -----------------------------------------------------------------------------------------

GateSku sku(const std::string& name, std::int64_t free, SaleTerms terms = {}) {
  return {Sku(name), free, std::move(terms)};
}

void open_with(StockGate& gate, const GateImage& image) {
  const auto epoch = gate.begin_rebuild();
  CPPUNIT_ASSERT(epoch.ok());
  const auto opened = gate.finish_rebuild(*epoch, image);
  CPPUNIT_ASSERT_MESSAGE(opened ? "" : opened.error().message, opened.ok());
}

void open_with(StockGate& gate, std::vector<GateSku> skus) {
  open_with(gate, GateImage{std::move(skus), {}, {}, {}});
}

ReserveRequest want(const std::string& order_no, const std::string& user, const std::string& request,
                    std::vector<Line> lines) {
  std::string body;
  for (const auto& line : lines) body += line.sku.str() + "=" + std::to_string(line.quantity) + ";";
  return {OrderNo(order_no), UserId(user), RequestId(request), BodyHash(body), std::move(lines)};
}

// Order, user and request all named after one word, for tests in which only the lines matter.
ReserveRequest want(const std::string& name, std::vector<Line> lines) {
  return want("O-" + name, "U-" + name, "R-" + name, std::move(lines));
}

std::vector<Line> line(const std::string& name, std::int64_t quantity) {
  return {{Sku(name), quantity}};
}

ReserveAnswer reserve(StockGate& gate, const ReserveRequest& request) {
  const auto answers = gate.reserve({&request, 1});
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), answers.size());
  CPPUNIT_ASSERT_MESSAGE(answers[0] ? "" : answers[0].error().message, answers[0].ok());
  return *answers[0];
}

void expect_reserve(StockGate& gate, const ReserveRequest& request, ReserveOutcome expected) {
  const auto answer = reserve(gate, request);
  CPPUNIT_ASSERT_EQUAL(std::string(to_string(expected)), std::string(to_string(answer.outcome)));
  if (expected == ReserveOutcome::Reserved)
    CPPUNIT_ASSERT_EQUAL(request.order_no.str(), answer.order_no.str());
  else if (expected != ReserveOutcome::Replayed)
    CPPUNIT_ASSERT(answer.order_no.empty());
}

void expect_replay(StockGate& gate, const ReserveRequest& request, const std::string& order_no) {
  const auto answer = reserve(gate, request);
  CPPUNIT_ASSERT_EQUAL(std::string("replayed"), std::string(to_string(answer.outcome)));
  CPPUNIT_ASSERT_EQUAL(order_no, answer.order_no.str());
}

ReleaseOutcome release(StockGate& gate, const ReserveRequest& of, ReleaseKind kind = ReleaseKind::Ended) {
  const ReleaseRequest request{of.order_no, of.lines, kind};
  const auto answers = gate.release({&request, 1});
  CPPUNIT_ASSERT(answers.size() == 1 && answers[0].ok());
  return *answers[0];
}

ConfirmOutcome confirm(StockGate& gate, const ReserveRequest& of) {
  const ConfirmRequest request{of.order_no, of.lines};
  const auto answers = gate.confirm({&request, 1});
  CPPUNIT_ASSERT(answers.size() == 1 && answers[0].ok());
  return *answers[0];
}

SkuSnapshot figures(StockGate& gate, const std::string& name) {
  const auto all = gate.snapshot();
  CPPUNIT_ASSERT(all.ok());
  for (const auto& entry : *all) {
    if (entry.sku.str() == name) return entry;
  }
  CPPUNIT_FAIL("no SKU " + name + " in the snapshot");
  return {};
}

void expect_figures(StockGate& gate, const std::string& name, std::int64_t free, std::int64_t held) {
  const auto found = figures(gate, name);
  CPPUNIT_ASSERT_EQUAL_MESSAGE(name + " free", free, found.free);
  CPPUNIT_ASSERT_EQUAL_MESSAGE(name + " held", held, found.held);
}

std::vector<GateHold> all_holds(Subject& subject) {
  const auto holds = subject.gate().holds({{}, subject.now() + 1h}, 1'000'000);
  CPPUNIT_ASSERT(holds.ok());
  return *holds;
}

template <class Answers>
bool all_not_loaded(const Answers& answers) {
  return std::all_of(answers.begin(), answers.end(), [](const auto& answer) {
    return !answer && answer.error().code == ErrorCode::NotLoaded;
  });
}

// Runs `body(i)` for i < count, all started at the same instant, each on a thread of its own.
void at_once(int count, const std::function<void(int)>& body) {
  std::latch start(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
  for (auto& thread : threads) thread.join();
}

// For use on the threads of at_once, where an assertion could not be reported.
std::optional<ReserveOutcome> outcome_of(StockGate& gate, const ReserveRequest& request) {
  const auto answers = gate.reserve({&request, 1});
  if (answers.size() != 1 || !answers[0]) return std::nullopt;
  return answers[0]->outcome;
}

// Closed gates ------------------------------------------------------------------------------------

void closed_gate_answers_not_loaded_everywhere(Subject& subject) {
  // A gate without figures must never look like a sold-out sale.
  auto& gate = subject.gate();
  const auto request = want("1", line("A", 1));
  expect_reserve(gate, request, ReserveOutcome::NotLoaded);
  const ReleaseRequest released{request.order_no, request.lines, ReleaseKind::Ended};
  CPPUNIT_ASSERT(all_not_loaded(gate.release({&released, 1})));
  const ConfirmRequest confirmed{request.order_no, request.lines};
  CPPUNIT_ASSERT(all_not_loaded(gate.confirm({&confirmed, 1})));
  const auto loaded = sku("A", 1);
  CPPUNIT_ASSERT(all_not_loaded(gate.load({&loaded, 1})));
  CPPUNIT_ASSERT(gate.holds({{}, subject.now()}, 10).error().code == ErrorCode::NotLoaded);
  CPPUNIT_ASSERT(gate.snapshot().error().code == ErrorCode::NotLoaded);
}

void begin_rebuild_closes_an_open_gate(Subject& subject) {
  // While the figures are in doubt nothing may be promised and nothing may get lost.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  const auto held = want("1", line("A", 1));
  expect_reserve(gate, held, ReserveOutcome::Reserved);
  CPPUNIT_ASSERT(gate.begin_rebuild().ok());
  expect_reserve(gate, want("2", line("A", 1)), ReserveOutcome::NotLoaded);
  const ReleaseRequest released{held.order_no, held.lines, ReleaseKind::Ended};
  CPPUNIT_ASSERT(all_not_loaded(gate.release({&released, 1})));
}

void unknown_sku_is_not_loaded_and_holds_nothing(Subject& subject) {
  // A missing key is a fault of the gate, not the end of the sale; the other line stays free.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  const auto answer = reserve(gate, want("1", {{Sku("A"), 1}, {Sku("GONE"), 1}}));
  CPPUNIT_ASSERT_EQUAL(std::string("not_loaded"), std::string(to_string(answer.outcome)));
  CPPUNIT_ASSERT_EQUAL(std::string("GONE"), answer.sku.str());
  expect_figures(gate, "A", 5, 0);
}

// Reserving ---------------------------------------------------------------------------------------

void reserve_takes_the_units_and_leaves_evidence(Subject& subject) {
  // A crash right after the reserve must leave a hold that can be listed and traced to its request.
  auto& gate = subject.gate();
  const auto epoch = gate.begin_rebuild();
  CPPUNIT_ASSERT(gate.finish_rebuild(*epoch, {{sku("A", 5), sku("B", 5)}, {}, {}, {}}).ok());
  const auto before = subject.now();
  const auto request = want("1", {{Sku("A"), 2}, {Sku("B"), 1}});
  expect_reserve(gate, request, ReserveOutcome::Reserved);
  expect_figures(gate, "A", 3, 2);
  expect_figures(gate, "B", 4, 1);
  const auto holds = all_holds(subject);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), holds.size());
  CPPUNIT_ASSERT(holds[0].order_no == request.order_no && holds[0].user == request.user);
  CPPUNIT_ASSERT(holds[0].request == request.request && holds[0].body == request.body);
  CPPUNIT_ASSERT(holds[0].lines == request.lines);
  CPPUNIT_ASSERT(holds[0].held_at >= before && holds[0].held_at <= subject.now());
  CPPUNIT_ASSERT_EQUAL(*epoch, holds[0].epoch);
}

void batch_answers_in_order_and_bad_items_harm_nobody(Subject& subject) {
  // One lane batch mixes strangers: what one of them sends must not fail the others.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 3)});
  const std::vector<ReserveRequest> batch{want("1", line("A", 1)), want("2", line("GONE", 1)),
                                          want("3", {}),           want("4", line("A", -5)),
                                          want("5", line("A", 0)), want("6", line("A", kMaxQuantity + 1)),
                                          want("7", line("A", 9)), want("8", line("A", 2))};
  const auto answers = gate.reserve(batch);
  CPPUNIT_ASSERT_EQUAL(batch.size(), answers.size());
  CPPUNIT_ASSERT(answers[0]->outcome == ReserveOutcome::Reserved);
  CPPUNIT_ASSERT(answers[1]->outcome == ReserveOutcome::NotLoaded);
  for (const std::size_t i : {2, 3, 4, 5})
    CPPUNIT_ASSERT(answers[i].error().code == ErrorCode::InvalidArgument);
  CPPUNIT_ASSERT(answers[6]->outcome == ReserveOutcome::OutOfStock);
  CPPUNIT_ASSERT(answers[7]->outcome == ReserveOutcome::Reserved);
  CPPUNIT_ASSERT(answers[7]->order_no == batch[7].order_no);
  expect_figures(gate, "A", 0, 3);
  CPPUNIT_ASSERT(gate.reserve({}).empty());
}

void two_lines_of_one_sku_count_together(Subject& subject) {
  // 3 + 3 of 5 must be refused whole, or the second line oversells.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5), sku("LIMITED", 9, {{}, {}, 3, {}})});
  expect_reserve(gate, want("1", {{Sku("A"), 3}, {Sku("A"), 3}}), ReserveOutcome::OutOfStock);
  expect_figures(gate, "A", 5, 0);
  expect_reserve(gate, want("2", {{Sku("LIMITED"), 2}, {Sku("LIMITED"), 2}}), ReserveOutcome::LimitExceeded);
  const auto fits = want("3", {{Sku("A"), 3}, {Sku("A"), 2}});
  expect_reserve(gate, fits, ReserveOutcome::Reserved);
  expect_figures(gate, "A", 0, 5);
  CPPUNIT_ASSERT(release(gate, fits) == ReleaseOutcome::Released);
  expect_figures(gate, "A", 5, 0);
}

void all_lines_or_none(Subject& subject) {
  // An order that fails on its third line must not keep the first two from other buyers.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5), sku("B", 5), sku("C", 0)});
  const auto answer = reserve(gate, want("1", {{Sku("A"), 1}, {Sku("B"), 1}, {Sku("C"), 1}}));
  CPPUNIT_ASSERT(answer.outcome == ReserveOutcome::OutOfStock);
  CPPUNIT_ASSERT_EQUAL(std::string("C"), answer.sku.str());
  expect_figures(gate, "A", 5, 0);
  expect_figures(gate, "B", 5, 0);
  CPPUNIT_ASSERT(all_holds(subject).empty());
}

void one_refused_order_does_not_sell_out_the_sku(Subject& subject) {
  // The fifth order asks too much; the other four and later small ones go through.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 6)});
  for (const auto* name : {"1", "2", "3", "4"}) {
    expect_reserve(gate, want(name, line("A", 1)), ReserveOutcome::Reserved);
  }
  expect_reserve(gate, want("5", line("A", 3)), ReserveOutcome::OutOfStock);
  expect_reserve(gate, want("6", line("A", 2)), ReserveOutcome::Reserved);
  expect_figures(gate, "A", 0, 6);
}

void released_units_go_to_the_next_buyers(Subject& subject) {
  // Whatever remembers "sold out" must forget it with a release, without a restart.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 2)});
  const auto first = want("1", line("A", 2));
  expect_reserve(gate, first, ReserveOutcome::Reserved);
  expect_reserve(gate, want("2", line("A", 1)), ReserveOutcome::OutOfStock);
  CPPUNIT_ASSERT(release(gate, first) == ReleaseOutcome::Released);
  expect_reserve(gate, want("3", line("A", 1)), ReserveOutcome::Reserved);
  expect_reserve(gate, want("4", line("A", 1)), ReserveOutcome::Reserved);
  expect_reserve(gate, want("5", line("A", 1)), ReserveOutcome::OutOfStock);
}

// Window and limits -------------------------------------------------------------------------------

void window_is_judged_by_the_gates_clock(Subject& subject) {
  // Every process asks the same clock, so a host that is a minute off neither opens nor closes a sale.
  auto& gate = subject.gate();
  const auto now = subject.now();
  open_with(gate, {sku("SOON", 5, {now + 1min, {}, {}, {}}), sku("OVER", 5, {{}, now - 1s, {}, {}}),
                   sku("OPEN", 5, {now - 1s, now + 1min, {}, {}})});
  expect_reserve(gate, want("1", line("SOON", 1)), ReserveOutcome::NotStarted);
  expect_reserve(gate, want("2", line("OVER", 1)), ReserveOutcome::Ended);
  expect_reserve(gate, want("3", line("OPEN", 1)), ReserveOutcome::Reserved);
  expect_reserve(gate, want("4", {{Sku("OPEN"), 1}, {Sku("OVER"), 1}}), ReserveOutcome::Ended);
  expect_figures(gate, "SOON", 5, 0);
  expect_figures(gate, "OVER", 5, 0);
  expect_figures(gate, "OPEN", 4, 1);
}

void limit_per_user_counts_all_orders_and_comes_back_with_a_release(Subject& subject) {
  // One per buyer means one at a time: after the time-out of the first order another is allowed.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 10, {{}, {}, 1, {}})});
  const auto first = want("O-1", "alice", "R-1", line("A", 1));
  const auto second = want("O-2", "alice", "R-2", line("A", 1));
  expect_reserve(gate, first, ReserveOutcome::Reserved);
  expect_reserve(gate, second, ReserveOutcome::LimitExceeded);
  expect_reserve(gate, want("O-3", "bob", "R-1", line("A", 1)), ReserveOutcome::Reserved);
  CPPUNIT_ASSERT(release(gate, first) == ReleaseOutcome::Released);
  expect_reserve(gate, second, ReserveOutcome::Reserved);
  expect_figures(gate, "A", 8, 2);
}

void two_requests_of_one_buyer_at_once_respect_the_limit(Subject& subject) {
  // Two taps within one millisecond are the oldest way round a limit.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 100, {{}, {}, 1, {}})});
  std::atomic<int> reserved{0};
  at_once(8, [&](int i) {
    const auto name = std::to_string(i);
    if (outcome_of(gate, want("O-" + name, "alice", "R-" + name, line("A", 1))) == ReserveOutcome::Reserved)
      ++reserved;
  });
  CPPUNIT_ASSERT_EQUAL(1, reserved.load());
  expect_figures(gate, "A", 99, 1);
}

void bought_units_count_against_the_limit_for_good(Subject& subject) {
  // A buyer who paid has used the limit; only an unsold end gives it back.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 10, {{}, {}, 2, {}})});
  const auto bought = want("O-1", "alice", "R-1", line("A", 2));
  expect_reserve(gate, bought, ReserveOutcome::Reserved);
  CPPUNIT_ASSERT(confirm(gate, bought) == ConfirmOutcome::Confirmed);
  expect_reserve(gate, want("O-2", "alice", "R-2", line("A", 1)), ReserveOutcome::LimitExceeded);
}

void quantity_per_order_is_limited(Subject& subject) {
  // One buyer must not empty the sale with one order, however many orders are allowed.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 10, {{}, {}, {}, 2})});
  expect_reserve(gate, want("O-1", "alice", "R-1", line("A", 3)), ReserveOutcome::LimitExceeded);
  expect_reserve(gate, want("O-2", "alice", "R-2", line("A", 2)), ReserveOutcome::Reserved);
  expect_reserve(gate, want("O-3", "alice", "R-3", line("A", 2)), ReserveOutcome::Reserved);
  expect_figures(gate, "A", 6, 4);
}

// Repeats -----------------------------------------------------------------------------------------

void repeated_request_gets_the_same_order_and_one_hold(Subject& subject) {
  // The reply of the first try may have been lost: asking again must be safe, whatever number it carries.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  expect_reserve(gate, want("O-1", "alice", "R-1", line("A", 2)), ReserveOutcome::Reserved);
  expect_replay(gate, want("O-1", "alice", "R-1", line("A", 2)), "O-1");
  expect_replay(gate, want("O-2", "alice", "R-1", line("A", 2)), "O-1");
  expect_figures(gate, "A", 3, 2);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), all_holds(subject).size());
}

void repeat_within_one_batch_gets_the_same_order(Subject& subject) {
  // A double click arrives in one batch more often than in two.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  const std::vector<ReserveRequest> batch{want("O-1", "alice", "R-1", line("A", 1)),
                                          want("O-2", "alice", "R-1", line("A", 1))};
  const auto answers = gate.reserve(batch);
  CPPUNIT_ASSERT(answers[0]->outcome == ReserveOutcome::Reserved);
  CPPUNIT_ASSERT(answers[1]->outcome == ReserveOutcome::Replayed);
  CPPUNIT_ASSERT_EQUAL(std::string("O-1"), answers[1]->order_no.str());
  expect_figures(gate, "A", 4, 1);
}

void repeat_is_answered_when_sold_out_over_the_limit_or_ended(Subject& subject) {
  // Who has an order keeps its answer, whatever became of the sale meanwhile.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 1, {{}, {}, 1, {}})});
  const auto request = want("O-1", "alice", "R-1", line("A", 1));
  expect_reserve(gate, request, ReserveOutcome::Reserved);
  expect_replay(gate, request, "O-1");
  const auto over = sku("A", 0, {{}, subject.now() - 1s, 1, {}});
  CPPUNIT_ASSERT(*gate.load({&over, 1})[0] == LoadOutcome::TermsChanged);
  expect_replay(gate, request, "O-1");
  expect_reserve(gate, want("2", line("A", 1)), ReserveOutcome::Ended);
}

void repeat_after_the_orders_end_is_answered_with_its_number(Subject& subject) {
  // A late repeat must not become a second order just because the first was paid or timed out.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  const auto paid = want("O-1", "alice", "R-1", line("A", 1));
  const auto lapsed = want("O-2", "alice", "R-2", line("A", 1));
  expect_reserve(gate, paid, ReserveOutcome::Reserved);
  expect_reserve(gate, lapsed, ReserveOutcome::Reserved);
  CPPUNIT_ASSERT(confirm(gate, paid) == ConfirmOutcome::Confirmed);
  CPPUNIT_ASSERT(release(gate, lapsed, ReleaseKind::Ended) == ReleaseOutcome::Released);
  expect_replay(gate, paid, "O-1");
  expect_replay(gate, lapsed, "O-2");
  expect_reserve(gate, want("O-3", "alice", "R-2", line("A", 2)), ReserveOutcome::KeyReused);
  expect_figures(gate, "A", 4, 0);
}

void undone_request_may_try_again(Subject& subject) {
  // The order never came to be, so its request must not be answered with a number that leads nowhere.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  const auto undone = want("O-1", "alice", "R-1", line("A", 1));
  expect_reserve(gate, undone, ReserveOutcome::Reserved);
  CPPUNIT_ASSERT(release(gate, undone, ReleaseKind::Undone) == ReleaseOutcome::Released);
  expect_reserve(gate, want("O-2", "alice", "R-1", line("A", 3)), ReserveOutcome::Reserved);
  expect_figures(gate, "A", 2, 3);
}

void key_with_another_body_is_refused(Subject& subject) {
  // The same key for something else is a client's defect; guessing which one it meant sells the wrong thing.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5), sku("B", 5)});
  expect_reserve(gate, want("O-1", "alice", "R-1", line("A", 1)), ReserveOutcome::Reserved);
  expect_reserve(gate, want("O-2", "alice", "R-1", line("A", 2)), ReserveOutcome::KeyReused);
  expect_reserve(gate, want("O-3", "alice", "R-1", line("B", 1)), ReserveOutcome::KeyReused);
  expect_figures(gate, "A", 4, 1);
  expect_figures(gate, "B", 5, 0);
}

void request_ids_belong_to_their_user(Subject& subject) {
  // Guessing another buyer's request id must neither show nor block that buyer's order.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  expect_reserve(gate, want("O-1", "alice", "R-1", line("A", 1)), ReserveOutcome::Reserved);
  expect_reserve(gate, want("O-2", "bob", "R-1", line("A", 1)), ReserveOutcome::Reserved);
  expect_replay(gate, want("O-3", "bob", "R-1", line("A", 1)), "O-2");
  // Where one name ends and the next begins must not matter either.
  expect_reserve(gate, want("O-4", "alic", "eR-1", line("A", 1)), ReserveOutcome::Reserved);
  expect_figures(gate, "A", 2, 3);
}

void order_number_of_another_request_is_refused(Subject& subject) {
  // Two holds under one number could never be told apart again.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  expect_reserve(gate, want("O-1", "alice", "R-1", line("A", 1)), ReserveOutcome::Reserved);
  const auto clash = want("O-1", "bob", "R-2", line("A", 1));
  CPPUNIT_ASSERT(gate.reserve({&clash, 1})[0].error().code == ErrorCode::Conflict);
  expect_figures(gate, "A", 4, 1);
}

// Ends of a hold ----------------------------------------------------------------------------------

void release_and_confirm_act_once(Subject& subject) {
  // Events are delivered at least once: every repeat must change nothing and say so.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  const auto released = want("1", line("A", 2));
  const auto sold = want("2", line("A", 1));
  expect_reserve(gate, released, ReserveOutcome::Reserved);
  expect_reserve(gate, sold, ReserveOutcome::Reserved);
  CPPUNIT_ASSERT(release(gate, released) == ReleaseOutcome::Released);
  CPPUNIT_ASSERT(confirm(gate, sold) == ConfirmOutcome::Confirmed);
  for (int i = 0; i < 3; ++i) {
    for (const auto& ended : {released, sold}) {
      CPPUNIT_ASSERT(release(gate, ended) == ReleaseOutcome::NothingHeld);
      CPPUNIT_ASSERT(release(gate, ended, ReleaseKind::Undone) == ReleaseOutcome::NothingHeld);
      CPPUNIT_ASSERT(confirm(gate, ended) == ConfirmOutcome::NothingHeld);
    }
  }
  CPPUNIT_ASSERT(release(gate, want("never", line("A", 1))) == ReleaseOutcome::NothingHeld);
  CPPUNIT_ASSERT(confirm(gate, want("never", line("A", 1))) == ConfirmOutcome::NothingHeld);
  expect_figures(gate, "A", 4, 0);
  expect_replay(gate, released, "O-1");
}

void ten_releases_of_one_order_at_once_give_back_once(Subject& subject) {
  // User, time-out and a replayed dead letter may all report the same end at the same time.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  const auto request = want("1", line("A", 2));
  expect_reserve(gate, request, ReserveOutcome::Reserved);
  std::atomic<int> released{0};
  at_once(10, [&](int) {
    const ReleaseRequest again{request.order_no, request.lines, ReleaseKind::Ended};
    const auto answers = gate.release({&again, 1});
    if (answers[0].ok() && *answers[0] == ReleaseOutcome::Released) ++released;
  });
  CPPUNIT_ASSERT_EQUAL(1, released.load());
  expect_figures(gate, "A", 5, 0);
}

void holds_are_listed_oldest_first_up_to_the_limit(Subject& subject) {
  // Whoever settles orphans works through them in bounded steps and must not touch fresh ones.
  auto& gate = subject.gate();
  GateImage image{{sku("A", 5)}, {}, {}, {}};
  const auto now = subject.now();
  for (const int age : {10, 30, 20}) {
    const auto name = std::to_string(age);
    image.holds.push_back({OrderNo("O-" + name), UserId("U"), RequestId("R-" + name), BodyHash("b"),
                           line("A", 1), now - std::chrono::minutes(age), 0});
  }
  open_with(gate, image);
  const auto listed = gate.holds({{}, now - 15min}, 10);
  CPPUNIT_ASSERT(listed.ok());
  CPPUNIT_ASSERT_EQUAL(std::size_t(2), listed->size());
  CPPUNIT_ASSERT_EQUAL(std::string("O-30"), (*listed)[0].order_no.str());
  CPPUNIT_ASSERT_EQUAL(std::string("O-20"), (*listed)[1].order_no.str());
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), gate.holds({{}, now}, 1)->size());
  const auto next_page = gate.holds({now - 20min, now}, 10);
  CPPUNIT_ASSERT_EQUAL(std::size_t(2), next_page->size());
  CPPUNIT_ASSERT_EQUAL(std::string("O-20"), (*next_page)[0].order_no.str());
}

// Rebuild and load --------------------------------------------------------------------------------

void rebuild_restores_holds_purchases_and_answers(Subject& subject) {
  // After a restart every promise made before it must still be kept.
  auto& gate = subject.gate();
  GateImage image;
  image.skus = {sku("A", 3, {{}, {}, 2, {}}), sku("B", 0)};
  const auto held = want("O-1", "alice", "R-1", {{Sku("A"), 1}, {Sku("B"), 2}});
  image.holds.push_back(
      {held.order_no, held.user, held.request, held.body, held.lines, subject.now() - 1min, 0});
  image.purchases.push_back({UserId("bob"), Sku("A"), 2});
  const auto ended = want("O-2", "bob", "R-2", line("A", 2));
  image.answered.push_back({ended.user, ended.request, ended.body, ended.order_no});
  open_with(gate, image);

  expect_figures(gate, "A", 3, 1);
  expect_figures(gate, "B", 0, 2);
  expect_replay(gate, want("O-9", "alice", "R-1", held.lines), "O-1");
  expect_replay(gate, want("O-9", "bob", "R-2", ended.lines), "O-2");
  expect_reserve(gate, want("O-9", "bob", "R-2", line("A", 1)), ReserveOutcome::KeyReused);
  expect_reserve(gate, want("O-9", "bob", "R-3", line("A", 1)), ReserveOutcome::LimitExceeded);
  expect_reserve(gate, want("O-9", "alice", "R-3", line("A", 2)), ReserveOutcome::LimitExceeded);
  CPPUNIT_ASSERT(release(gate, held) == ReleaseOutcome::Released);
  expect_figures(gate, "A", 4, 0);
  expect_figures(gate, "B", 2, 0);
}

void rebuild_replaces_everything(Subject& subject) {
  // What the books do not know must not survive in the copy.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5), sku("OLD", 1)});
  const auto forgotten = want("1", line("A", 5));
  expect_reserve(gate, forgotten, ReserveOutcome::Reserved);
  open_with(gate, {sku("A", 7)});
  expect_figures(gate, "A", 7, 0);
  CPPUNIT_ASSERT(all_holds(subject).empty());
  CPPUNIT_ASSERT(release(gate, forgotten) == ReleaseOutcome::NothingHeld);
  expect_reserve(gate, want("2", line("OLD", 1)), ReserveOutcome::NotLoaded);
  expect_reserve(gate, forgotten, ReserveOutcome::Reserved);
}

void rebuild_of_an_earlier_epoch_is_refused(Subject& subject) {
  // Of two rebuilds the one that read the books last wins; a late one would install old figures.
  auto& gate = subject.gate();
  const auto first = gate.begin_rebuild();
  const auto second = gate.begin_rebuild();
  CPPUNIT_ASSERT(*second > *first);
  const GateImage image{{sku("A", 5)}, {}, {}, {}};
  CPPUNIT_ASSERT(gate.finish_rebuild(*first, image).error().code == ErrorCode::Conflict);
  expect_reserve(gate, want("1", line("A", 1)), ReserveOutcome::NotLoaded);
  CPPUNIT_ASSERT(gate.finish_rebuild(*second, image).ok());
  expect_reserve(gate, want("1", line("A", 1)), ReserveOutcome::Reserved);
  CPPUNIT_ASSERT(gate.finish_rebuild(*second, image).error().code == ErrorCode::Conflict);
  CPPUNIT_ASSERT(gate.finish_rebuild(*first, image).error().code == ErrorCode::Conflict);
  expect_figures(gate, "A", 4, 1);
}

void rebuild_without_a_beginning_is_refused(Subject& subject) {
  // Figures read before the gate was closed may miss what was reserved meanwhile.
  CPPUNIT_ASSERT(subject.gate().finish_rebuild(0, {}).error().code == ErrorCode::Conflict);
  CPPUNIT_ASSERT(subject.gate().finish_rebuild(999, {}).error().code == ErrorCode::Conflict);
}

void load_adds_skus_and_changes_terms_but_never_units(Subject& subject) {
  // Loading the same file twice must change nothing, least of all what was reserved meanwhile.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 5)});
  expect_reserve(gate, want("1", line("A", 2)), ReserveOutcome::Reserved);
  const std::vector<GateSku> batch{sku("A", 5), sku("A", 9, {{}, {}, 1, {}}), sku("B", 4), sku("B", 4),
                                   sku("C", -1)};
  const auto answers = gate.load(batch);
  CPPUNIT_ASSERT(*answers[0] == LoadOutcome::Unchanged);
  CPPUNIT_ASSERT(*answers[1] == LoadOutcome::TermsChanged);
  CPPUNIT_ASSERT(*answers[2] == LoadOutcome::Added);
  CPPUNIT_ASSERT(*answers[3] == LoadOutcome::Unchanged);
  CPPUNIT_ASSERT(answers[4].error().code == ErrorCode::InvalidArgument);
  expect_figures(gate, "A", 3, 2);
  expect_figures(gate, "B", 4, 0);
  CPPUNIT_ASSERT_EQUAL(std::size_t(2), gate.snapshot()->size());
  expect_reserve(gate, want("2", line("A", 2)), ReserveOutcome::LimitExceeded);
  expect_reserve(gate, want("3", line("B", 4)), ReserveOutcome::Reserved);
}

// Many at once ------------------------------------------------------------------------------------

void one_unit_and_two_hundred_buyers(Subject& subject) {
  // The one promise: a unit is sold once, and at every instant it is either free or held.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 1)});
  std::atomic<int> reserved{0}, refused{0}, broken{0};
  at_once(200, [&](int i) {
    const auto outcome = outcome_of(gate, want(std::to_string(i), line("A", 1)));
    if (outcome == ReserveOutcome::Reserved) ++reserved;
    if (outcome == ReserveOutcome::OutOfStock) ++refused;
    const auto all = gate.snapshot();
    if (!all || all->size() != 1 || (*all)[0].free + (*all)[0].held != 1 || (*all)[0].free < 0) ++broken;
  });
  CPPUNIT_ASSERT_EQUAL(1, reserved.load());
  CPPUNIT_ASSERT_EQUAL(199, refused.load());
  CPPUNIT_ASSERT_EQUAL(0, broken.load());
}

void ten_units_and_a_hundred_buyers_of_three(Subject& subject) {
  // The remainder stays: three orders of three, one unit left, nothing negative.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 10)});
  std::atomic<int> reserved{0};
  at_once(100, [&](int i) {
    if (outcome_of(gate, want(std::to_string(i), line("A", 3))) == ReserveOutcome::Reserved) ++reserved;
  });
  CPPUNIT_ASSERT_EQUAL(3, reserved.load());
  expect_figures(gate, "A", 1, 9);
}

void one_request_thirty_times_at_once_is_one_order(Subject& subject) {
  // Every one of the thirty answers must name the same order.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 100)});
  std::vector<std::string> numbers(30);
  std::atomic<int> reserved{0};
  at_once(30, [&](int i) {
    const auto request = want("O-" + std::to_string(i), "alice", "R-1", line("A", 1));
    const auto answers = gate.reserve({&request, 1});
    if (!answers[0]) return;
    numbers[i] = answers[0]->order_no.str();
    if (answers[0]->outcome == ReserveOutcome::Reserved) ++reserved;
  });
  CPPUNIT_ASSERT_EQUAL(1, reserved.load());
  CPPUNIT_ASSERT(!numbers[0].empty());
  CPPUNIT_ASSERT(std::all_of(numbers.begin(), numbers.end(), [&](const auto& n) { return n == numbers[0]; }));
  expect_figures(gate, "A", 99, 1);
}

void crossing_lines_do_not_deadlock(Subject& subject) {
  // Orders of (a,b) and (b,a), and of five SKUs in random order, all come to an end.
  auto& gate = subject.gate();
  std::vector<GateSku> skus;
  const std::vector<std::string> names{"A", "B", "C", "D", "E"};
  for (const auto& name : names) skus.push_back(sku(name, 10'000));
  open_with(gate, skus);
  std::atomic<int> reserved{0};
  const auto count = [&](const ReserveRequest& request) {
    if (outcome_of(gate, request) == ReserveOutcome::Reserved) ++reserved;
  };
  at_once(20, [&](int thread) {
    std::mt19937 shuffle(static_cast<unsigned>(thread));
    for (int i = 0; i < 100; ++i) {
      const auto name = std::to_string(thread) + "-" + std::to_string(i);
      const bool forward = thread % 2 == 0;
      count(want(name, {{Sku(forward ? "A" : "B"), 1}, {Sku(forward ? "B" : "A"), 1}}));
      if (i % 20 != 0) continue;
      auto order = names;
      std::shuffle(order.begin(), order.end(), shuffle);
      std::vector<Line> lines;
      for (const auto& each : order) lines.push_back({Sku(each), 1});
      count(want(name + "-five", lines));
    }
  });
  CPPUNIT_ASSERT_EQUAL(2'000 + 100, reserved.load());
  expect_figures(gate, "A", 10'000 - 2'100, 2'100);
  expect_figures(gate, "E", 10'000 - 100, 100);
}

// One buyer's random walk: reserves, repeats, releases and confirms orders of its own.
class RandomBuyer {
 public:
  RandomBuyer(StockGate& gate, int number)
      : gate_(gate), name_(std::to_string(number)), random_(unsigned(number)) {}

  void step(int i) {
    switch (random_() % 4) {
      case 0:
      case 1: return place(i);
      case 2: return end(true);
      default: return end(false);
    }
  }

  std::int64_t sold = 0;
  std::int64_t held = 0;
  int mistakes = 0;

 private:
  void place(int i) {
    const auto quantity = static_cast<std::int64_t>(random_() % 3 + 1);
    auto request = want(name_ + "-" + std::to_string(i), line(random_() % 2 ? "A" : "B", quantity));
    if (outcome_of(gate_, request) != ReserveOutcome::Reserved) return;
    if (outcome_of(gate_, request) != ReserveOutcome::Replayed) ++mistakes;
    held += quantity;
    open_.push_back(std::move(request));
  }

  void end(bool pay) {
    if (open_.empty()) return;
    const auto position = open_.begin() + static_cast<std::ptrdiff_t>(random_() % open_.size());
    const auto request = *position;
    open_.erase(position);
    const ReleaseRequest released{request.order_no, request.lines,
                                  random_() % 2 ? ReleaseKind::Ended : ReleaseKind::Undone};
    const ConfirmRequest confirmed{request.order_no, request.lines};
    const bool done = pay ? *gate_.confirm({&confirmed, 1})[0] == ConfirmOutcome::Confirmed
                          : *gate_.release({&released, 1})[0] == ReleaseOutcome::Released;
    if (!done) ++mistakes;
    held -= request.lines[0].quantity;
    if (pay) sold += request.lines[0].quantity;
  }

  StockGate& gate_;
  const std::string name_;
  std::mt19937 random_;
  std::vector<ReserveRequest> open_;
};

void free_held_and_sold_always_add_up(Subject& subject) {
  // Whatever is done in whatever order, no unit appears or disappears.
  auto& gate = subject.gate();
  open_with(gate, {sku("A", 40), sku("B", 40)});
  std::vector<RandomBuyer> buyers;
  for (int i = 0; i < 8; ++i) buyers.emplace_back(gate, i + 1);
  at_once(8, [&](int i) {
    for (int step = 0; step < 300; ++step) buyers[i].step(step);
  });
  std::int64_t sold = 0, held = 0, free = 0, held_at_gate = 0;
  for (const auto& buyer : buyers) {
    CPPUNIT_ASSERT_EQUAL(0, buyer.mistakes);
    sold += buyer.sold;
    held += buyer.held;
  }
  const auto skus = gate.snapshot();
  for (const auto& entry : *skus) {
    CPPUNIT_ASSERT(entry.free >= 0 && entry.held >= 0);
    free += entry.free;
    held_at_gate += entry.held;
  }
  CPPUNIT_ASSERT_EQUAL(held, held_at_gate);
  CPPUNIT_ASSERT_EQUAL(std::int64_t(80), free + held + sold);
  std::int64_t listed = 0;
  for (const auto& hold : all_holds(subject)) listed += hold.lines[0].quantity;
  CPPUNIT_ASSERT_EQUAL(held, listed);
}

#define PENSTOCK_CONTRACT(test) \
  { #test, test }
constexpr ContractTest<Subject> kTests[] = {
    PENSTOCK_CONTRACT(closed_gate_answers_not_loaded_everywhere),
    PENSTOCK_CONTRACT(begin_rebuild_closes_an_open_gate),
    PENSTOCK_CONTRACT(unknown_sku_is_not_loaded_and_holds_nothing),
    PENSTOCK_CONTRACT(reserve_takes_the_units_and_leaves_evidence),
    PENSTOCK_CONTRACT(batch_answers_in_order_and_bad_items_harm_nobody),
    PENSTOCK_CONTRACT(two_lines_of_one_sku_count_together),
    PENSTOCK_CONTRACT(all_lines_or_none),
    PENSTOCK_CONTRACT(one_refused_order_does_not_sell_out_the_sku),
    PENSTOCK_CONTRACT(released_units_go_to_the_next_buyers),
    PENSTOCK_CONTRACT(window_is_judged_by_the_gates_clock),
    PENSTOCK_CONTRACT(limit_per_user_counts_all_orders_and_comes_back_with_a_release),
    PENSTOCK_CONTRACT(two_requests_of_one_buyer_at_once_respect_the_limit),
    PENSTOCK_CONTRACT(bought_units_count_against_the_limit_for_good),
    PENSTOCK_CONTRACT(quantity_per_order_is_limited),
    PENSTOCK_CONTRACT(repeated_request_gets_the_same_order_and_one_hold),
    PENSTOCK_CONTRACT(repeat_within_one_batch_gets_the_same_order),
    PENSTOCK_CONTRACT(repeat_is_answered_when_sold_out_over_the_limit_or_ended),
    PENSTOCK_CONTRACT(repeat_after_the_orders_end_is_answered_with_its_number),
    PENSTOCK_CONTRACT(undone_request_may_try_again),
    PENSTOCK_CONTRACT(key_with_another_body_is_refused),
    PENSTOCK_CONTRACT(request_ids_belong_to_their_user),
    PENSTOCK_CONTRACT(order_number_of_another_request_is_refused),
    PENSTOCK_CONTRACT(release_and_confirm_act_once),
    PENSTOCK_CONTRACT(ten_releases_of_one_order_at_once_give_back_once),
    PENSTOCK_CONTRACT(holds_are_listed_oldest_first_up_to_the_limit),
    PENSTOCK_CONTRACT(rebuild_restores_holds_purchases_and_answers),
    PENSTOCK_CONTRACT(rebuild_replaces_everything),
    PENSTOCK_CONTRACT(rebuild_of_an_earlier_epoch_is_refused),
    PENSTOCK_CONTRACT(rebuild_without_a_beginning_is_refused),
    PENSTOCK_CONTRACT(load_adds_skus_and_changes_terms_but_never_units),
    PENSTOCK_CONTRACT(one_unit_and_two_hundred_buyers),
    PENSTOCK_CONTRACT(ten_units_and_a_hundred_buyers_of_three),
    PENSTOCK_CONTRACT(one_request_thirty_times_at_once_is_one_order),
    PENSTOCK_CONTRACT(crossing_lines_do_not_deadlock),
    PENSTOCK_CONTRACT(free_held_and_sold_always_add_up),
};
#undef PENSTOCK_CONTRACT

}  // namespace

StockGateContract::StockGateContract(std::string adapter, Make make)
    : ContractSuite(std::move(adapter), std::move(make), kTests) {}

}  // namespace penstock::testkit
