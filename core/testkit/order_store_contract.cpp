#include "penstock/testkit/order_store_contract.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/orders/events.hpp"
#include "penstock/testkit/sanitizer.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/TestAssert.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace penstock::testkit {
namespace {

using namespace orders;
using namespace std::chrono_literals;

using Subject = OrderStoreSubject;

// Helpers -----------------------------------------------------------------------------------------

StockRow stock(const std::string& sku, std::int64_t quantity) {
  return {1, Sku(sku), "Product " + sku, WarehouseId("W1"), quantity, 1000, "EUR", {}, 1h};
}

StockRow stock(const std::string& sku, const std::string& warehouse, std::int64_t quantity) {
  auto row = stock(sku, quantity);
  row.warehouse = WarehouseId(warehouse);
  return row;
}

LoadReport load(Subject& subject, const std::vector<StockRow>& rows, LoadMode mode = LoadMode::Apply) {
  const auto report = subject.books().load(rows, mode);
  CPPUNIT_ASSERT_MESSAGE(report ? "" : report.error().message, report.ok());
  return *report;
}

std::vector<Line> line(const std::string& sku, std::int64_t quantity) {
  return {{Sku(sku), quantity}};
}

// Order, user and request all named after one word.
NewOrder order(const std::string& name, std::vector<Line> lines) {
  return {OrderNo("O-" + name),  UserId("U-" + name), RequestId("R-" + name),
          BodyHash("H-" + name), std::move(lines),    "00-trace-" + name + "-01"};
}

NewOrder renumbered(NewOrder order, const std::string& order_no) {
  order.order_no = OrderNo(order_no);
  return order;
}

template <class Answer>
Answer only(std::vector<Result<Answer>> answers) {
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), answers.size());
  CPPUNIT_ASSERT_MESSAGE(answers[0] ? "" : answers[0].error().message, answers[0].ok());
  return std::move(*answers[0]);
}

AcceptAnswer accept(Subject& subject, const NewOrder& order) {
  return only(subject.store().accept({&order, 1}));
}

OrderNo accepted(Subject& subject, const NewOrder& order) {
  const auto answer = accept(subject, order);
  CPPUNIT_ASSERT(answer.outcome == AcceptOutcome::Accepted);
  CPPUNIT_ASSERT_EQUAL(order.order_no.str(), answer.order_no.str());
  return answer.order_no;
}

LockRequest lock_request(const OrderNo& order_no) {
  return {event_id(kOrderCreated, order_no), order_no};
}

LockOutcome lock(Subject& subject, const OrderNo& order_no) {
  const auto request = lock_request(order_no);
  return only(subject.store().lock_stock({&request, 1}));
}

OrderNo waiting(Subject& subject, const NewOrder& order) {
  const auto order_no = accepted(subject, order);
  CPPUNIT_ASSERT(lock(subject, order_no) == LockOutcome::Locked);
  return order_no;
}

Payment payment(const OrderNo& order_no, std::int64_t amount, const std::string& number) {
  return {"bank", PaymentNo(number), order_no, amount, "EUR"};
}

PayAnswer pay(Subject& subject, const Payment& payment) {
  return only(subject.store().pay({&payment, 1}));
}

CancelAnswer cancel(Subject& subject, const OrderNo& order_no, const std::string& user = "") {
  const CancelRequest request{order_no, UserId(user), user.empty() ? "operator" : "user"};
  return only(subject.store().cancel({&request, 1}));
}

ExpireAnswer expire(Subject& subject, const OrderNo& order_no) {
  return only(subject.store().expire({&order_no, 1}));
}

AbandonOutcome abandon(Subject& subject, const OrderNo& order_no) {
  return only(subject.store().abandon({&order_no, 1}));
}

std::optional<Order> find(Subject& subject, const OrderNo& order_no) {
  const auto found = subject.store().find({&order_no, 1});
  CPPUNIT_ASSERT(found.ok() && found->size() == 1);
  return (*found)[0];
}

void expect_status(Subject& subject, const OrderNo& order_no, OrderStatus status,
                   std::string_view reason = "") {
  const auto found = find(subject, order_no);
  CPPUNIT_ASSERT(found);
  CPPUNIT_ASSERT_EQUAL(std::string(to_string(status)), std::string(to_string(found->status)));
  CPPUNIT_ASSERT_EQUAL(std::string(reason), found->reason);
}

Books books(Subject& subject) {
  const auto books = subject.books().books();
  CPPUNIT_ASSERT_MESSAGE(books ? "" : books.error().message, books.ok());
  return *books;
}

void expect_balance(Subject& subject) {
  const auto now = books(subject);
  std::string text;
  for (const auto& d : now.differences) text += d.kind + " " + d.subject + ": " + d.detail + "\n";
  CPPUNIT_ASSERT_EQUAL(std::string(), text);
  for (const auto& sku : now.skus) CPPUNIT_ASSERT_EQUAL(std::int64_t(0), sku.imbalance());
}

void expect_books(Subject& subject, const std::string& sku, std::int64_t free, std::int64_t held,
                  std::int64_t locked, std::int64_t sold) {
  expect_balance(subject);
  for (const auto& entry : books(subject).skus) {
    if (entry.sku.str() != sku) continue;
    CPPUNIT_ASSERT_EQUAL_MESSAGE("free", free, entry.free());
    CPPUNIT_ASSERT_EQUAL_MESSAGE("held", held, entry.held);
    CPPUNIT_ASSERT_EQUAL_MESSAGE("locked", locked, entry.locked);
    CPPUNIT_ASSERT_EQUAL_MESSAGE("sold", sold, entry.sold);
    CPPUNIT_ASSERT_EQUAL_MESSAGE("locked rows", locked, entry.locked_rows);
    CPPUNIT_ASSERT_EQUAL_MESSAGE("sold rows", sold, entry.sold_rows);
    return;
  }
  CPPUNIT_FAIL("no SKU " + sku + " in the books");
}

OutboxLease lease(Subject& subject, std::size_t max = 1000, Milliseconds span = 1h) {
  auto leased = subject.store().lease_outbox(max, span);
  CPPUNIT_ASSERT_MESSAGE(leased ? "" : leased.error().message, leased.ok());
  return std::move(*leased);
}

std::vector<OutboxMark> marks(const OutboxLease& lease, OutboxVerdict verdict, Milliseconds after = 0ms) {
  std::vector<OutboxMark> marks;
  for (const auto& event : lease.events) marks.push_back({event.id, verdict, "test", after});
  return marks;
}

std::vector<MarkOutcome> mark(Subject& subject, const OutboxLease& lease,
                              const std::vector<OutboxMark>& marks) {
  const auto outcomes = subject.store().mark_outbox(lease.token, marks);
  CPPUNIT_ASSERT_MESSAGE(outcomes ? "" : outcomes.error().message, outcomes.ok());
  CPPUNIT_ASSERT_EQUAL(marks.size(), outcomes->size());
  return *outcomes;
}

// Publishes everything that is due and returns it.
std::vector<OutboxEvent> drain(Subject& subject) {
  std::vector<OutboxEvent> events;
  for (;;) {
    const auto leased = lease(subject);
    if (leased.events.empty()) return events;
    mark(subject, leased, marks(leased, OutboxVerdict::Sent));
    events.insert(events.end(), leased.events.begin(), leased.events.end());
  }
}

std::vector<std::string> types(const std::vector<OutboxEvent>& events) {
  std::vector<std::string> types;
  for (const auto& event : events) types.push_back(event.type);
  std::sort(types.begin(), types.end());
  return types;
}

void expect_types(const std::vector<OutboxEvent>& events, std::vector<std::string_view> expected) {
  std::sort(expected.begin(), expected.end());
  const auto found = types(events);
  CPPUNIT_ASSERT(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
}

std::vector<OrderMove> moves(Subject& subject, const OrderNo& order_no, std::int64_t after = 0) {
  const auto found = subject.store().moves_after({&order_no, 1}, after);
  CPPUNIT_ASSERT(found.ok());
  return *found;
}

// Runs `body(i)` for i < count, all started at the same instant, each on a thread of its own. The first
// exception is thrown again on the caller's thread.
void at_once(int count, const std::function<void(int)>& body) {
  std::latch start(count);
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      try {
        body(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

std::vector<OrderNo> accept_many(Subject& subject, int count, const std::string& prefix,
                                 const std::string& sku) {
  constexpr int kBatch = 500;
  std::vector<OrderNo> numbers;
  for (int first = 0; first < count; first += kBatch) {
    std::vector<NewOrder> batch;
    for (int i = first; i < std::min(count, first + kBatch); ++i) {
      batch.push_back(order(prefix + std::to_string(i), line(sku, 1)));
      numbers.push_back(batch.back().order_no);
    }
    for (const auto& answer : subject.store().accept(batch)) {
      CPPUNIT_ASSERT(answer.ok() && answer->outcome == AcceptOutcome::Accepted);
    }
  }
  return numbers;
}

void lock_many(Subject& subject, const std::vector<OrderNo>& numbers) {
  std::vector<LockRequest> requests;
  for (const auto& number : numbers) requests.push_back(lock_request(number));
  for (const auto& outcome : subject.store().lock_stock(requests)) {
    CPPUNIT_ASSERT(outcome.ok() && *outcome == LockOutcome::Locked);
  }
}

std::int64_t resident_kib() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE) / 1024;
}

// Accepting ---------------------------------------------------------------------------------------

void an_accepted_order_is_found_as_it_was_given(Subject& subject) {
  // 202 means that these rows are there, whatever happens to the process.
  load(subject, {stock("A", 10), stock("B", 10)});
  const auto given = order("1", {{Sku("A"), 2}, {Sku("B"), 1}, {Sku("A"), 1}});
  const auto found = find(subject, accepted(subject, given));
  CPPUNIT_ASSERT(found);
  CPPUNIT_ASSERT_EQUAL(std::string("U-1"), found->user.str());
  CPPUNIT_ASSERT_EQUAL(std::string("R-1"), found->request.str());
  CPPUNIT_ASSERT(found->status == OrderStatus::Processing && found->reason.empty() && !found->pay_deadline);
  CPPUNIT_ASSERT_EQUAL(std::int64_t(4000), found->amount_minor);
  CPPUNIT_ASSERT_EQUAL(std::string("EUR"), found->currency);
  CPPUNIT_ASSERT_EQUAL(std::size_t(3), found->lines.size());
  CPPUNIT_ASSERT_EQUAL(std::string("B"), found->lines[1].sku.str());
  CPPUNIT_ASSERT_EQUAL(std::int64_t(2), found->lines[0].quantity);
  CPPUNIT_ASSERT_EQUAL(std::int64_t(1000), found->lines[2].unit_price_minor);
  expect_books(subject, "A", 7, 3, 0, 0);
}

void a_repeat_is_a_duplicate_with_the_first_number(Subject& subject) {
  // A buyer who presses twice, or whose answer was lost, must end with one order.
  load(subject, {stock("A", 10)});
  const auto first = order("1", line("A", 1));
  accepted(subject, first);
  for (const auto& repeat : {first, renumbered(first, "O-other")}) {
    const auto answer = accept(subject, repeat);
    CPPUNIT_ASSERT(answer.outcome == AcceptOutcome::Duplicate);
    CPPUNIT_ASSERT_EQUAL(std::string("O-1"), answer.order_no.str());
  }
  CPPUNIT_ASSERT(!find(subject, OrderNo("O-other")));
  expect_books(subject, "A", 9, 1, 0, 0);
}

void repeats_within_one_batch_are_one_order(Subject& subject) {
  // Under load both presses of one buyer stand in the same batch.
  load(subject, {stock("A", 10)});
  const auto first = order("1", line("A", 1));
  const std::vector<NewOrder> batch{first, renumbered(first, "O-second"), order("2", line("A", 1)), first};
  const auto answers = subject.store().accept(batch);
  CPPUNIT_ASSERT(answers[0]->outcome == AcceptOutcome::Accepted);
  CPPUNIT_ASSERT(answers[1]->outcome == AcceptOutcome::Duplicate && answers[1]->order_no.str() == "O-1");
  CPPUNIT_ASSERT(answers[2]->outcome == AcceptOutcome::Accepted && answers[2]->order_no.str() == "O-2");
  CPPUNIT_ASSERT(answers[3]->outcome == AcceptOutcome::Duplicate && answers[3]->order_no.str() == "O-1");
  expect_books(subject, "A", 8, 2, 0, 0);
}

void one_request_thirty_times_at_once_is_one_order(Subject& subject) {
  // The unique key decides, not the luck of two threads.
  load(subject, {stock("A", 100)});
  std::atomic<int> accepted_count = 0;
  std::vector<std::string> numbers(30);
  at_once(30, [&](int i) {
    const auto answer = accept(subject, renumbered(order("1", line("A", 1)), "O-" + std::to_string(i)));
    if (answer.outcome == AcceptOutcome::Accepted) ++accepted_count;
    numbers[static_cast<std::size_t>(i)] = answer.order_no.str();
  });
  CPPUNIT_ASSERT_EQUAL(1, accepted_count.load());
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), std::set<std::string>(numbers.begin(), numbers.end()).size());
  expect_books(subject, "A", 99, 1, 0, 0);
}

void a_key_with_another_body_is_refused(Subject& subject) {
  // Answering another order's number for a changed basket would sell the wrong thing.
  load(subject, {stock("A", 10)});
  const auto first = order("1", line("A", 1));
  auto changed = renumbered(order("1", line("A", 2)), "O-changed");
  changed.body = BodyHash("H-changed");
  const std::vector<NewOrder> batch{first, changed};
  const auto answers = subject.store().accept(batch);
  CPPUNIT_ASSERT(answers[0]->outcome == AcceptOutcome::Accepted);
  CPPUNIT_ASSERT(answers[1]->outcome == AcceptOutcome::KeyReused);
  CPPUNIT_ASSERT(accept(subject, changed).outcome == AcceptOutcome::KeyReused);
  CPPUNIT_ASSERT(!find(subject, changed.order_no));
  expect_books(subject, "A", 9, 1, 0, 0);
}

void request_ids_belong_to_their_user(Subject& subject) {
  // Two buyers' clients may choose the same key.
  load(subject, {stock("A", 10)});
  auto other = order("2", line("A", 1));
  other.request = RequestId("R-1");
  accepted(subject, order("1", line("A", 1)));
  accepted(subject, other);
  expect_books(subject, "A", 8, 2, 0, 0);
}

void an_unknown_product_refuses_its_order_only(Subject& subject) {
  // One bad basket in a batch of 500 must cost its buyer alone.
  load(subject, {stock("A", 10)});
  const std::vector<NewOrder> batch{order("1", line("A", 1)), order("2", {{Sku("A"), 1}, {Sku("none"), 1}}),
                                    order("3", line("A", 1))};
  const auto answers = subject.store().accept(batch);
  CPPUNIT_ASSERT(answers[0]->outcome == AcceptOutcome::Accepted);
  CPPUNIT_ASSERT(answers[1]->outcome == AcceptOutcome::UnknownSku && answers[1]->order_no.empty());
  CPPUNIT_ASSERT(answers[2]->outcome == AcceptOutcome::Accepted);
  CPPUNIT_ASSERT(!find(subject, OrderNo("O-2")));
  expect_books(subject, "A", 8, 2, 0, 0);
}

void a_malformed_order_is_an_error_of_its_own(Subject& subject) {
  // The store is the last to check what the books rest on.
  auto dollars = stock("D", 10);
  dollars.currency = "USD";
  load(subject, {stock("A", 10), dollars});
  std::vector<NewOrder> batch{order("0", line("A", 1)),
                              order("1", {}),
                              order("2", line("A", 0)),
                              order("3", line("A", kMaxQuantity + 1)),
                              order("4", {{Sku("A"), 1}, {Sku("D"), 1}}),
                              order("5", std::vector<Line>(kMaxLines + 1, Line{Sku("A"), 1}))};
  const auto answers = subject.store().accept(batch);
  CPPUNIT_ASSERT(answers[0]->outcome == AcceptOutcome::Accepted);
  for (std::size_t i = 1; i < batch.size(); ++i) {
    CPPUNIT_ASSERT(!answers[i].ok() && answers[i].error().code == ErrorCode::InvalidArgument);
    CPPUNIT_ASSERT(!find(subject, batch[i].order_no));
  }
  expect_books(subject, "A", 9, 1, 0, 0);
}

void a_number_of_another_request_is_refused(Subject& subject) {
  // Two requests under one number would share a hold.
  load(subject, {stock("A", 10)});
  accepted(subject, order("1", line("A", 1)));
  const std::vector<NewOrder> batch{renumbered(order("2", line("A", 1)), "O-1"), order("3", line("A", 1))};
  const auto answers = subject.store().accept(batch);
  CPPUNIT_ASSERT(!answers[0].ok() && answers[0].error().code == ErrorCode::Conflict);
  CPPUNIT_ASSERT(answers[1]->outcome == AcceptOutcome::Accepted);
}

void prices_are_those_of_the_moment_of_acceptance(Subject& subject) {
  // A buyer pays what was shown, also when the price changes afterwards.
  load(subject, {stock("A", 10)});
  const auto before = accepted(subject, order("1", line("A", 2)));
  auto dearer = stock("A", 10);
  dearer.price_minor = 5000;
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), load(subject, {dearer}).changed);
  const auto after = accepted(subject, order("2", line("A", 2)));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(2000), find(subject, before)->amount_minor);
  CPPUNIT_ASSERT_EQUAL(std::int64_t(10000), find(subject, after)->amount_minor);
}

void ids_come_back_digit_for_digit(Subject& subject) {
  // 9007199254740993 is the first integer that a double cannot hold.
  const std::string digits = "9007199254740993";
  load(subject, {stock(digits, digits, 10)});
  auto given = order("1", line(digits, 1));
  given.order_no = OrderNo(digits);
  given.user = UserId("00" + digits);
  accepted(subject, given);
  const auto found = find(subject, OrderNo(digits));
  CPPUNIT_ASSERT_EQUAL(digits, found->order_no.str());
  CPPUNIT_ASSERT_EQUAL("00" + digits, found->user.str());
  CPPUNIT_ASSERT_EQUAL(digits, found->lines[0].sku.str());
  const auto events = drain(subject);
  CPPUNIT_ASSERT_EQUAL(digits, events[0].order_no.str());
  CPPUNIT_ASSERT_EQUAL(digits, decode(events[0].body)->lines[0].sku.str());
  CPPUNIT_ASSERT(lock(subject, OrderNo(digits)) == LockOutcome::Locked);
  CPPUNIT_ASSERT_EQUAL(digits, subject.books().gate_skus()->at(0).sku.str());
  expect_books(subject, digits, 9, 0, 1, 0);
}

void empty_batches_answer_nothing(Subject& subject) {
  // A drained lane may end with an empty batch.
  CPPUNIT_ASSERT(subject.store().accept({}).empty());
  CPPUNIT_ASSERT(subject.store().lock_stock({}).empty());
  CPPUNIT_ASSERT(subject.store().pay({}).empty());
  CPPUNIT_ASSERT(subject.store().cancel({}).empty());
  CPPUNIT_ASSERT(subject.store().expire({}).empty());
  CPPUNIT_ASSERT(subject.store().abandon({}).empty());
  CPPUNIT_ASSERT(subject.store().find({})->empty());
  CPPUNIT_ASSERT(subject.store().moves_after({}, 0)->empty());
  CPPUNIT_ASSERT(subject.store().mark_outbox(LeaseToken("none"), {})->empty());
  CPPUNIT_ASSERT(lease(subject).events.empty());
  CPPUNIT_ASSERT(subject.books().products({})->empty());
}

// Abandoning --------------------------------------------------------------------------------------

void an_abandoned_number_never_becomes_an_order(Subject& subject) {
  // A hold is given back on the promise that a late accept of its number fails.
  load(subject, {stock("A", 10)});
  const auto late = order("1", line("A", 1));
  CPPUNIT_ASSERT(abandon(subject, late.order_no) == AbandonOutcome::Abandoned);
  CPPUNIT_ASSERT(abandon(subject, late.order_no) == AbandonOutcome::Abandoned);
  CPPUNIT_ASSERT(accept(subject, late).outcome == AcceptOutcome::Abandoned);
  CPPUNIT_ASSERT(!find(subject, late.order_no));
  CPPUNIT_ASSERT(lock(subject, late.order_no) == LockOutcome::UnknownOrder);
  CPPUNIT_ASSERT(cancel(subject, late.order_no).outcome == CancelOutcome::UnknownOrder);
  CPPUNIT_ASSERT(expire(subject, late.order_no).outcome == ExpireOutcome::UnknownOrder);
  CPPUNIT_ASSERT(pay(subject, payment(late.order_no, 1, "P")).outcome == PayOutcome::UnknownOrder);
  accepted(subject, renumbered(late, "O-retry"));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(1), books(subject).abandoned);
  CPPUNIT_ASSERT_EQUAL(std::int64_t(0), books(subject).orders[OrderStatus::Failed]);
  expect_books(subject, "A", 9, 1, 0, 0);
}

void an_accepted_order_cannot_be_abandoned(Subject& subject) {
  // Its hold is in use.
  load(subject, {stock("A", 10)});
  const auto order_no = accepted(subject, order("1", line("A", 1)));
  const std::vector<OrderNo> numbers{order_no, OrderNo("O-none"), OrderNo("O-none")};
  const auto answers = subject.store().abandon(numbers);
  CPPUNIT_ASSERT(*answers[0] == AbandonOutcome::Exists);
  CPPUNIT_ASSERT(*answers[1] == AbandonOutcome::Abandoned && *answers[2] == AbandonOutcome::Abandoned);
  expect_status(subject, order_no, OrderStatus::Processing);
}

void of_accept_and_abandon_exactly_one_wins(Subject& subject) {
  // Both or neither would lose a unit or sell it twice.
  load(subject, {stock("A", 1000)});
  constexpr int kOrders = 100;
  std::vector<AcceptOutcome> accepts(kOrders);
  std::vector<AbandonOutcome> abandons(kOrders);
  at_once(2, [&](int side) {
    for (int i = 0; i < kOrders; ++i) {
      const auto given = order(std::to_string(i), line("A", 1));
      const auto place = static_cast<std::size_t>(i);
      if (side == 0)
        accepts[place] = accept(subject, given).outcome;
      else
        abandons[place] = abandon(subject, given.order_no);
    }
  });
  for (std::size_t i = 0; i < kOrders; ++i) {
    CPPUNIT_ASSERT((accepts[i] == AcceptOutcome::Accepted) == (abandons[i] == AbandonOutcome::Exists));
    CPPUNIT_ASSERT((accepts[i] == AcceptOutcome::Abandoned) == (abandons[i] == AbandonOutcome::Abandoned));
  }
  expect_balance(subject);
}

// Locking stock -----------------------------------------------------------------------------------

void locking_moves_stock_and_sets_the_deadline(Subject& subject) {
  // WAITING_PAY means that the units are the buyer's until the deadline.
  auto row = stock("A", 10);
  row.pay_within = 90s;
  load(subject, {row});
  const auto order_no = waiting(subject, order("1", line("A", 3)));
  const auto found = find(subject, order_no);
  CPPUNIT_ASSERT(found->status == OrderStatus::WaitingPay && found->pay_deadline);
  const auto away = *found->pay_deadline - *subject.store().now();
  CPPUNIT_ASSERT(away > 60s && away <= 90s);
  expect_books(subject, "A", 7, 0, 3, 0);
  const auto events = drain(subject);
  expect_types(events, {kOrderCreated, kOrderPayDue});
  for (const auto& event : events) {
    const bool delayed = event.due_in > 60s && event.due_in <= 90s;
    CPPUNIT_ASSERT(event.type == kOrderPayDue ? delayed : event.due_in == 0ms);
  }
}

void not_enough_stock_fails_the_order_with_a_release(Subject& subject) {
  // The gate may be wrong; the database never sells what is not there.
  load(subject, {stock("A", 2)});
  const auto order_no = accepted(subject, order("1", line("A", 3)));
  drain(subject);
  CPPUNIT_ASSERT(lock(subject, order_no) == LockOutcome::NoStock);
  expect_status(subject, order_no, OrderStatus::Failed, kReasonNoStock);
  expect_types(drain(subject), {kOrderReleased});
  expect_books(subject, "A", 2, 0, 0, 0);
}

void all_lines_are_locked_or_none(Subject& subject) {
  // Two of three products would be a parcel that nobody ordered.
  load(subject, {stock("A", 5), stock("B", 5), stock("C", 1)});
  const auto order_no = accepted(subject, order("1", {{Sku("A"), 1}, {Sku("B"), 1}, {Sku("C"), 2}}));
  CPPUNIT_ASSERT(lock(subject, order_no) == LockOutcome::NoStock);
  expect_books(subject, "A", 5, 0, 0, 0);
  expect_books(subject, "B", 5, 0, 0, 0);
}

void two_lines_of_one_product_count_together(Subject& subject) {
  // 3 + 3 of 5 is not enough, although each line alone is.
  load(subject, {stock("A", 5)});
  const auto six = accepted(subject, order("1", {{Sku("A"), 3}, {Sku("A"), 3}}));
  CPPUNIT_ASSERT(lock(subject, six) == LockOutcome::NoStock);
  const auto five = waiting(subject, order("2", {{Sku("A"), 3}, {Sku("A"), 2}}));
  expect_books(subject, "A", 0, 0, 5, 0);
  CPPUNIT_ASSERT(cancel(subject, five).outcome == CancelOutcome::Cancelled);
  expect_books(subject, "A", 5, 0, 0, 0);
}

void an_order_may_span_warehouses(Subject& subject) {
  // W1 has 2 left and W2 has 15: 13 are there, and cancelling clears both.
  load(subject, {stock("A", "W1", 10), stock("A", "W2", 15)});
  const auto first = waiting(subject, order("1", line("A", 8)));
  const auto both = waiting(subject, order("2", line("A", 13)));
  expect_books(subject, "A", 4, 0, 21, 0);
  CPPUNIT_ASSERT(cancel(subject, both).outcome == CancelOutcome::Cancelled);
  expect_books(subject, "A", 17, 0, 8, 0);
  CPPUNIT_ASSERT(pay(subject, payment(first, 8000, "P")).outcome == PayOutcome::Paid);
  expect_books(subject, "A", 17, 0, 0, 8);
}

void an_event_has_one_effect(Subject& subject) {
  // Delivery is at least once: the same event comes again, also in the same batch, also days later.
  load(subject, {stock("A", 10)});
  const auto order_no = accepted(subject, order("1", line("A", 1)));
  CPPUNIT_ASSERT(!*subject.books().consumed(lock_request(order_no).event));
  const std::vector<LockRequest> batch{
      lock_request(order_no), lock_request(order_no), {EventId("another-event"), order_no}};
  const auto outcomes = subject.store().lock_stock(batch);
  CPPUNIT_ASSERT(*outcomes[0] == LockOutcome::Locked);
  CPPUNIT_ASSERT(*outcomes[1] == LockOutcome::AlreadyHandled);
  CPPUNIT_ASSERT(*outcomes[2] == LockOutcome::AlreadyHandled);
  CPPUNIT_ASSERT(lock(subject, order_no) == LockOutcome::AlreadyHandled);
  CPPUNIT_ASSERT(*subject.books().consumed(lock_request(order_no).event));
  expect_books(subject, "A", 9, 0, 1, 0);
}

void locking_an_unknown_order_harms_nobody(Subject& subject) {
  // A message of another database must not stop the batch it came in.
  load(subject, {stock("A", 10)});
  const auto order_no = accepted(subject, order("1", line("A", 1)));
  const std::vector<LockRequest> batch{lock_request(OrderNo("O-none")), lock_request(order_no)};
  const auto outcomes = subject.store().lock_stock(batch);
  CPPUNIT_ASSERT(*outcomes[0] == LockOutcome::UnknownOrder);
  CPPUNIT_ASSERT(*outcomes[1] == LockOutcome::Locked);
}

void the_last_units_go_to_as_many_orders(Subject& subject) {
  // Within a batch and between batches the counter may never go below zero.
  load(subject, {stock("A", 25)});
  const auto numbers = accept_many(subject, 100, "n", "A");
  std::atomic<int> locked = 0;
  at_once(4, [&](int part) {
    std::vector<LockRequest> requests;
    for (std::size_t i = static_cast<std::size_t>(part); i < numbers.size(); i += 4) {
      requests.push_back(lock_request(numbers[i]));
    }
    for (const auto& outcome : subject.store().lock_stock(requests)) {
      CPPUNIT_ASSERT(outcome.ok());
      if (*outcome == LockOutcome::Locked) ++locked;
    }
  });
  CPPUNIT_ASSERT_EQUAL(25, locked.load());
  expect_books(subject, "A", 0, 0, 25, 0);
}

void crossing_products_do_not_deadlock(Subject& subject) {
  // Orders with lines (a,b) and (b,a) at once: no lock trouble may reach a caller.
  load(subject, {stock("A", 1000), stock("B", 1000)});
  at_once(4, [&](int part) {
    for (int i = 0; i < 10; ++i) {
      std::vector<Line> lines{{Sku("A"), 1}, {Sku("B"), 1}};
      if (part % 2 == 1) std::swap(lines[0], lines[1]);
      const auto name = std::to_string(part) + "-" + std::to_string(i);
      const auto order_no = waiting(subject, order(name, lines));
      if (i % 2 == 0) CPPUNIT_ASSERT(cancel(subject, order_no).outcome == CancelOutcome::Cancelled);
    }
  });
  expect_books(subject, "A", 980, 0, 20, 0);
  expect_books(subject, "B", 980, 0, 20, 0);
}

// Paying ------------------------------------------------------------------------------------------

void a_payment_sells_once(Subject& subject) {
  // The provider repeats its callback until it hears an answer.
  load(subject, {stock("A", 10)});
  const auto order_no = waiting(subject, order("1", line("A", 2)));
  drain(subject);
  const auto paid = payment(order_no, 2000, "P1");
  const std::vector<Payment> batch{paid, paid};
  const auto answers = subject.store().pay(batch);
  CPPUNIT_ASSERT(answers[0]->outcome == PayOutcome::Paid && answers[0]->status == OrderStatus::Paid);
  CPPUNIT_ASSERT(answers[1]->outcome == PayOutcome::Repeated && answers[1]->status == OrderStatus::Paid);
  CPPUNIT_ASSERT(pay(subject, paid).outcome == PayOutcome::Repeated);
  expect_status(subject, order_no, OrderStatus::Paid);
  expect_types(drain(subject), {kOrderPaid});
  expect_books(subject, "A", 8, 0, 0, 2);
}

void a_payment_number_belongs_to_one_payment(Subject& subject) {
  // The same number with other content is a mistake of somebody, never money.
  load(subject, {stock("A", 10)});
  const auto first = waiting(subject, order("1", line("A", 1)));
  const auto second = waiting(subject, order("2", line("A", 1)));
  CPPUNIT_ASSERT(pay(subject, payment(first, 1000, "P1")).outcome == PayOutcome::Paid);
  CPPUNIT_ASSERT(pay(subject, payment(second, 1000, "P1")).outcome == PayOutcome::NumberReused);
  CPPUNIT_ASSERT(pay(subject, payment(first, 999, "P1")).outcome == PayOutcome::NumberReused);
  expect_status(subject, second, OrderStatus::WaitingPay);
  auto elsewhere = payment(second, 1000, "P1");
  elsewhere.provider = "card";
  CPPUNIT_ASSERT(pay(subject, elsewhere).outcome == PayOutcome::Paid);
  expect_balance(subject);
}

void a_wrong_amount_is_refused_and_the_order_stays_payable(Subject& subject) {
  // Too little is not paid; too much, or another money, is not either.
  load(subject, {stock("A", 10)});
  const auto order_no = waiting(subject, order("1", line("A", 1)));
  auto dollars = payment(order_no, 1000, "P3");
  dollars.currency = "USD";
  for (const auto& wrong : {payment(order_no, 999, "P1"), payment(order_no, 1001, "P2"), dollars}) {
    CPPUNIT_ASSERT(pay(subject, wrong).outcome == PayOutcome::WrongAmount);
    CPPUNIT_ASSERT(pay(subject, wrong).outcome == PayOutcome::Repeated);
  }
  expect_status(subject, order_no, OrderStatus::WaitingPay);
  CPPUNIT_ASSERT(pay(subject, payment(order_no, 1000, "P4")).outcome == PayOutcome::Paid);
  expect_books(subject, "A", 9, 0, 0, 1);
}

void an_early_payment_changes_nothing_and_may_come_again(Subject& subject) {
  // The callback may overtake the stock lock.
  load(subject, {stock("A", 10)});
  const auto order_no = accepted(subject, order("1", line("A", 1)));
  const auto early = pay(subject, payment(order_no, 1000, "P1"));
  CPPUNIT_ASSERT(early.outcome == PayOutcome::NotPayable && early.status == OrderStatus::Processing);
  CPPUNIT_ASSERT(lock(subject, order_no) == LockOutcome::Locked);
  CPPUNIT_ASSERT(pay(subject, payment(order_no, 1000, "P1")).outcome == PayOutcome::Paid);
}

void money_for_an_ended_order_is_to_be_refunded(Subject& subject) {
  // A second late, or a second time: the money is recorded, the units stay where they are.
  load(subject, {stock("A", 1)});
  const auto late = waiting(subject, order("1", line("A", 1)));
  CPPUNIT_ASSERT(cancel(subject, late).outcome == CancelOutcome::Cancelled);
  const auto rival = waiting(subject, order("2", line("A", 1)));
  const auto answer = pay(subject, payment(late, 1000, "P1"));
  CPPUNIT_ASSERT(answer.outcome == PayOutcome::RefundRequired && answer.status == OrderStatus::Cancelled);
  CPPUNIT_ASSERT(pay(subject, payment(late, 1000, "P1")).outcome == PayOutcome::Repeated);
  CPPUNIT_ASSERT(pay(subject, payment(rival, 1000, "P2")).outcome == PayOutcome::Paid);
  CPPUNIT_ASSERT(pay(subject, payment(rival, 1000, "P3")).outcome == PayOutcome::RefundRequired);
  expect_books(subject, "A", 0, 0, 0, 1);
}

void a_payment_for_nothing_is_told_so(Subject& subject) {
  // Unknown orders and impossible payments must not stop their neighbours.
  load(subject, {stock("A", 10)});
  const auto order_no = waiting(subject, order("1", line("A", 1)));
  const std::vector<Payment> batch{payment(OrderNo("O-none"), 1, "P1"), payment(order_no, -1, "P2"),
                                   payment(order_no, 1000, "P3")};
  const auto answers = subject.store().pay(batch);
  CPPUNIT_ASSERT(answers[0]->outcome == PayOutcome::UnknownOrder);
  CPPUNIT_ASSERT(!answers[1].ok() && answers[1].error().code == ErrorCode::InvalidArgument);
  CPPUNIT_ASSERT(answers[2]->outcome == PayOutcome::Paid);
}

// Ending ------------------------------------------------------------------------------------------

void cancelling_gives_back_exactly_what_is_locked(Subject& subject) {
  // Before the lock there is nothing to give back, after it all of it, and never twice.
  load(subject, {stock("A", 10)});
  const auto early = accepted(subject, order("1", line("A", 2)));
  const auto late = waiting(subject, order("2", line("A", 3)));
  drain(subject);
  for (const auto& order_no : {early, late}) {
    const auto answer = cancel(subject, order_no, "U-" + order_no.str().substr(2));
    CPPUNIT_ASSERT(answer.outcome == CancelOutcome::Cancelled && answer.status == OrderStatus::Cancelled);
    CPPUNIT_ASSERT(cancel(subject, order_no).outcome == CancelOutcome::AlreadyCancelled);
    expect_status(subject, order_no, OrderStatus::Cancelled, kReasonUser);
  }
  expect_types(drain(subject), {kOrderReleased, kOrderReleased});
  CPPUNIT_ASSERT(lock(subject, early) == LockOutcome::AlreadyHandled);
  expect_books(subject, "A", 10, 0, 0, 0);
}

void only_its_user_or_the_operator_cancels_an_order(Subject& subject) {
  // Other people's orders do not exist.
  load(subject, {stock("A", 10)});
  const auto order_no = waiting(subject, order("1", line("A", 1)));
  CPPUNIT_ASSERT(cancel(subject, order_no, "U-2").outcome == CancelOutcome::UnknownOrder);
  CPPUNIT_ASSERT(cancel(subject, OrderNo("O-none"), "U-1").outcome == CancelOutcome::UnknownOrder);
  expect_status(subject, order_no, OrderStatus::WaitingPay);
  CPPUNIT_ASSERT(cancel(subject, order_no).outcome == CancelOutcome::Cancelled);
}

void paid_and_failed_orders_cannot_be_cancelled(Subject& subject) {
  // A sale is undone by a refund, which is another matter.
  load(subject, {stock("A", 1)});
  const auto paid = waiting(subject, order("1", line("A", 1)));
  const auto failed = accepted(subject, order("2", line("A", 1)));
  CPPUNIT_ASSERT(lock(subject, failed) == LockOutcome::NoStock);
  CPPUNIT_ASSERT(pay(subject, payment(paid, 1000, "P")).outcome == PayOutcome::Paid);
  const auto of_paid = cancel(subject, paid);
  CPPUNIT_ASSERT(of_paid.outcome == CancelOutcome::NotCancellable && of_paid.status == OrderStatus::Paid);
  const auto of_failed = cancel(subject, failed);
  CPPUNIT_ASSERT(of_failed.outcome == CancelOutcome::NotCancellable &&
                 of_failed.status == OrderStatus::Failed);
  expect_books(subject, "A", 0, 0, 0, 1);
}

void an_order_expires_at_its_deadline_and_not_before(Subject& subject) {
  // A timeout that comes early steals the buyer's units; by whose clock is the database's to say.
  auto row = stock("A", 10);
  load(subject, {row});
  const auto patient = waiting(subject, order("1", line("A", 1)));
  row.pay_within = 1ms;
  load(subject, {row});
  const auto hasty = waiting(subject, order("2", line("A", 1)));
  const auto processing = accepted(subject, order("3", line("A", 1)));
  drain(subject);

  const auto early = expire(subject, patient);
  CPPUNIT_ASSERT(early.outcome == ExpireOutcome::NotDue && early.span > 59min && early.span <= 1h);
  CPPUNIT_ASSERT(expire(subject, processing).outcome == ExpireOutcome::NotWaiting);
  CPPUNIT_ASSERT(expire(subject, OrderNo("O-none")).outcome == ExpireOutcome::UnknownOrder);
  CPPUNIT_ASSERT(wait_until([&] { return subject.store().overdue(10)->size() == 1; }));
  const std::vector<OrderNo> twice{hasty, hasty};
  const auto answers = subject.store().expire(twice);
  CPPUNIT_ASSERT(answers[0]->outcome == ExpireOutcome::Expired && answers[0]->span >= 0ms &&
                 answers[0]->span < 1min);
  CPPUNIT_ASSERT(answers[1]->outcome == ExpireOutcome::AlreadyEnded);
  expect_status(subject, hasty, OrderStatus::Cancelled, kReasonTimeout);
  expect_types(drain(subject), {kOrderReleased});
  expect_books(subject, "A", 8, 1, 1, 0);
}

void overdue_orders_are_listed_longest_first_up_to_the_limit(Subject& subject) {
  // The sweep works through a backlog in bounded steps, oldest first.
  auto row = stock("A", 10);
  row.pay_within = 1ms;
  load(subject, {row});
  std::vector<OrderNo> numbers;
  for (int i = 0; i < 3; ++i) {
    numbers.push_back(waiting(subject, order(std::to_string(2 - i), line("A", 1))));
    const auto deadline = *find(subject, numbers.back())->pay_deadline;
    CPPUNIT_ASSERT(wait_until([&] { return *subject.store().now() > deadline; }));
  }
  const auto all = *subject.store().overdue(10);
  CPPUNIT_ASSERT(all == numbers);
  CPPUNIT_ASSERT(*subject.store().overdue(2) == std::vector<OrderNo>(numbers.begin(), numbers.begin() + 2));
}

void ten_releases_of_one_order_give_back_once(Subject& subject) {
  // User, timeout and a replayed message at once.
  auto row = stock("A", 10);
  row.pay_within = 1ms;
  load(subject, {row});
  const auto order_no = waiting(subject, order("1", line("A", 4)));
  CPPUNIT_ASSERT(wait_until([&] { return !subject.store().overdue(1)->empty(); }));
  std::atomic<int> released = 0;
  at_once(10, [&](int i) {
    if (i % 2 == 0 && cancel(subject, order_no).outcome == CancelOutcome::Cancelled) ++released;
    if (i % 2 == 1 && expire(subject, order_no).outcome == ExpireOutcome::Expired) ++released;
  });
  CPPUNIT_ASSERT_EQUAL(1, released.load());
  expect_books(subject, "A", 10, 0, 0, 0);  // the books tell of a second RELEASE flow
  expect_types(drain(subject), {kOrderCreated, kOrderPayDue, kOrderReleased});
}

void cancelling_at_each_step_of_the_consumer_nets_to_zero(Subject& subject) {
  // Whichever of lock and cancel comes first, nothing may stay locked and nothing may be lost.
  load(subject, {stock("A", 1000)});
  const auto numbers = accept_many(subject, 200, "n", "A");
  at_once(3, [&](int side) {
    for (const auto& number : numbers) {
      if (side == 0)
        lock(subject, number);
      else if (side == 1)
        cancel(subject, number);
      else
        lock(subject, number);
    }
  });
  for (const auto& number : numbers) expect_status(subject, number, OrderStatus::Cancelled, kReasonUser);
  expect_books(subject, "A", 1000, 0, 0, 0);
}

void of_pay_cancel_and_expire_exactly_one_wins(Subject& subject) {
  // A thousand orders, each paid, cancelled and expired at the same instant.
  constexpr int kOrders = 1000;
  constexpr std::size_t kBatch = 20;
  auto row = stock("A", kOrders);
  row.pay_within = 1ms;
  load(subject, {row});
  const auto numbers = accept_many(subject, kOrders, "n", "A");
  lock_many(subject, numbers);
  CPPUNIT_ASSERT(wait_until([&] { return subject.store().overdue(kOrders)->size() == kOrders; }));
  std::vector<int> wins(kOrders, 0);
  std::mutex mutex;
  at_once(3, [&](int side) {
    for (std::size_t first = 0; first < numbers.size(); first += kBatch) {
      const std::span<const OrderNo> part(numbers.data() + first, kBatch);
      std::vector<bool> won;
      if (side == 0) {
        std::vector<Payment> payments;
        for (const auto& n : part) payments.push_back(payment(n, 1000, "P-" + n.str()));
        for (const auto& a : subject.store().pay(payments)) won.push_back(a->outcome == PayOutcome::Paid);
      } else if (side == 1) {
        std::vector<CancelRequest> requests;
        for (const auto& n : part) requests.push_back({n, UserId(), "operator"});
        for (const auto& a : subject.store().cancel(requests))
          won.push_back(a->outcome == CancelOutcome::Cancelled);
      } else {
        for (const auto& a : subject.store().expire(part))
          won.push_back(a->outcome == ExpireOutcome::Expired);
      }
      const std::scoped_lock lock(mutex);
      for (std::size_t i = 0; i < won.size(); ++i) wins[first + i] += won[i] ? 1 : 0;
    }
  });
  CPPUNIT_ASSERT(std::all_of(wins.begin(), wins.end(), [](int count) { return count == 1; }));
  const auto after = books(subject);
  const auto paid = after.orders.at(OrderStatus::Paid);
  CPPUNIT_ASSERT_EQUAL(std::int64_t(kOrders), paid + after.orders.at(OrderStatus::Cancelled));
  expect_books(subject, "A", kOrders - paid, 0, 0, paid);
}

// Outbox ------------------------------------------------------------------------------------------

void an_event_tells_of_its_order(Subject& subject) {
  // Consumers see nothing but the event.
  load(subject, {stock("A", 10)});
  const auto given = order("1", {{Sku("A"), 2}, {Sku("A"), 1}});
  accepted(subject, given);
  const auto leased = lease(subject);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), leased.events.size());
  const auto& event = leased.events[0];
  CPPUNIT_ASSERT_EQUAL(event_id(kOrderCreated, given.order_no).str(), event.id.str());
  CPPUNIT_ASSERT_EQUAL(std::string("00-trace-1-01"), event.trace);
  CPPUNIT_ASSERT_EQUAL(std::uint32_t(0), event.attempts);
  const auto body = decode(event.body);
  CPPUNIT_ASSERT(body.ok());
  CPPUNIT_ASSERT(body->lines == given.lines);
  CPPUNIT_ASSERT_EQUAL(std::string("O-1"), body->order_no.str());
}

void a_leased_event_belongs_to_one_publisher(Subject& subject) {
  // Two publishers with one event would send it twice every time.
  load(subject, {stock("A", 10)});
  accept_many(subject, 5, "n", "A");
  const auto first = lease(subject, 3);
  const auto second = lease(subject, 10);
  CPPUNIT_ASSERT_EQUAL(std::size_t(3), first.events.size());
  CPPUNIT_ASSERT_EQUAL(std::size_t(2), second.events.size());
  CPPUNIT_ASSERT(first.token != second.token);
  CPPUNIT_ASSERT(lease(subject).events.empty());
  const auto foreign = mark(subject, second, marks(first, OutboxVerdict::Sent));
  CPPUNIT_ASSERT(
      std::all_of(foreign.begin(), foreign.end(), [](auto o) { return o == MarkOutcome::LeaseLost; }));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(5), subject.books().figures()->outbox.at("LEASED"));
}

void a_lease_that_ran_out_is_lost(Subject& subject) {
  // A publisher that was stopped for a minute must not mark what somebody else now publishes.
  load(subject, {stock("A", 10)});
  accept_many(subject, 2, "n", "A");
  const auto stale = lease(subject, 10, 1ms);
  OutboxLease fresh;
  CPPUNIT_ASSERT(wait_until([&] { return (fresh = lease(subject, 1)).events.size() == 1; }));
  CPPUNIT_ASSERT_EQUAL(std::uint32_t(1), fresh.events[0].attempts);
  const auto late = mark(subject, stale, marks(stale, OutboxVerdict::Sent));
  for (std::size_t i = 0; i < late.size(); ++i) {
    const bool taken = stale.events[i].id == fresh.events[0].id;
    // Nobody took the other one, so that its mark still tells the truth.
    CPPUNIT_ASSERT(late[i] == (taken ? MarkOutcome::LeaseLost : MarkOutcome::Marked));
  }
  CPPUNIT_ASSERT(mark(subject, fresh, marks(fresh, OutboxVerdict::Sent))[0] == MarkOutcome::Marked);
  CPPUNIT_ASSERT(lease(subject).events.empty());
}

void verdicts_decide_what_happens_next(Subject& subject) {
  // One row that cannot be sent backs off, or is given up with its reason; the others are done.
  load(subject, {stock("A", 10)});
  accept_many(subject, 4, "n", "A");
  const auto leased = lease(subject);
  const std::vector<OutboxMark> verdicts{{leased.events[0].id, OutboxVerdict::Sent, "confirmed", {}},
                                         {leased.events[1].id, OutboxVerdict::Retry, "refused", 1ms},
                                         {leased.events[2].id, OutboxVerdict::Retry, "refused", 1h},
                                         {leased.events[3].id, OutboxVerdict::Dead, "unroutable", {}},
                                         {leased.events[0].id, OutboxVerdict::Dead, "again", {}},
                                         {EventId("none"), OutboxVerdict::Sent, "", {}}};
  const auto outcomes = mark(subject, leased, verdicts);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CPPUNIT_ASSERT(outcomes[i] == (i < 4 ? MarkOutcome::Marked : MarkOutcome::LeaseLost));
  }
  OutboxLease again;
  CPPUNIT_ASSERT(wait_until([&] { return !(again = lease(subject)).events.empty(); }));
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), again.events.size());
  CPPUNIT_ASSERT_EQUAL(leased.events[1].id.str(), again.events[0].id.str());
  CPPUNIT_ASSERT_EQUAL(std::uint32_t(1), again.events[0].attempts);
  const auto figures = *subject.books().figures();
  CPPUNIT_ASSERT_EQUAL(std::int64_t(1), figures.outbox.at("DEAD"));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(1), figures.outbox.at("RETRY"));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(0), figures.outbox.at("NEW"));
  const auto now = books(subject);
  CPPUNIT_ASSERT_EQUAL(std::int64_t(1), now.outbox_dead);
  CPPUNIT_ASSERT_EQUAL(std::int64_t(2), now.outbox_pending);
}

void four_publishers_share_ten_thousand_events_without_a_double(Subject& subject) {
  // Without faults every event is published exactly once.
  constexpr int kEvents = 10'000;
  load(subject, {stock("A", kEvents)});
  accept_many(subject, kEvents, "n", "A");
  std::vector<std::vector<std::string>> leased(4);
  at_once(4, [&](int i) {
    for (;;) {
      const auto mine = lease(subject, 250);
      if (mine.events.empty()) return;
      for (const auto& event : mine.events) leased[static_cast<std::size_t>(i)].push_back(event.id.str());
      for (const auto outcome : mark(subject, mine, marks(mine, OutboxVerdict::Sent))) {
        CPPUNIT_ASSERT(outcome == MarkOutcome::Marked);
      }
    }
  });
  std::set<std::string> distinct;
  std::size_t total = 0;
  for (const auto& part : leased) {
    distinct.insert(part.begin(), part.end());
    total += part.size();
  }
  CPPUNIT_ASSERT_EQUAL(std::size_t(kEvents), total);
  CPPUNIT_ASSERT_EQUAL(std::size_t(kEvents), distinct.size());
}

void events_that_commit_late_are_published_too(Subject& subject) {
  // Whoever polls by the last number seen loses what commits behind it.
  load(subject, {stock("A", 10'000)});
  std::atomic<int> writers = 4;
  std::set<std::string> published;
  at_once(5, [&](int i) {
    if (i < 4) {
      for (int n = 0; n < 50; ++n)
        accepted(subject, order(std::to_string(i) + "-" + std::to_string(n), line("A", 1)));
      --writers;
      return;
    }
    for (bool last = false; !last;) {
      last = writers == 0;
      for (const auto& event : drain(subject)) CPPUNIT_ASSERT(published.insert(event.id.str()).second);
    }
  });
  CPPUNIT_ASSERT_EQUAL(std::size_t(200), published.size());
}

void a_large_backlog_is_leased_in_bounded_pieces(Subject& subject) {
  // After an outage the backlog must drain at a steady rate in flat memory.
  constexpr int kEvents = 50'000;
  load(subject, {stock("A", kEvents)});
  accept_many(subject, kEvents, "n", "A");
  std::size_t drained = 0;
  std::int64_t before = 0;
  for (;;) {
    const auto leased = lease(subject, 500);
    if (leased.events.empty()) break;
    CPPUNIT_ASSERT(leased.events.size() <= 500);
    mark(subject, leased, marks(leased, OutboxVerdict::Sent));
    drained += leased.events.size();
    if (before == 0) before = resident_kib();
  }
  CPPUNIT_ASSERT_EQUAL(std::size_t(kEvents), drained);
  const auto growth_kib = resident_kib() - before;
  CPPUNIT_ASSERT_MESSAGE(std::to_string(growth_kib), kSanitized || growth_kib < 64 * 1024);
}

void watchers_are_woken_by_commits_with_events(Subject& subject) {
  // Polling is the net; the wake-up is what makes an idle pipeline fast.
  load(subject, {stock("A", 10)});
  std::atomic<int> wakes = 0;
  auto watch = subject.store().watch_outbox([&] { ++wakes; });
  const auto given = order("1", line("A", 1));
  accepted(subject, given);
  CPPUNIT_ASSERT_EQUAL(1, wakes.load());
  accept(subject, given);  // a duplicate writes nothing
  CPPUNIT_ASSERT_EQUAL(1, wakes.load());
  lock(subject, given.order_no);
  cancel(subject, given.order_no);
  CPPUNIT_ASSERT_EQUAL(3, wakes.load());
  watch.reset();
  accepted(subject, order("2", line("A", 1)));
  CPPUNIT_ASSERT_EQUAL(3, wakes.load());
}

// Moves -------------------------------------------------------------------------------------------

void every_move_says_who_when_and_why(Subject& subject) {
  // The biography of an order is what support reads.
  load(subject, {stock("A", 10)});
  const auto begin = *subject.store().now();
  const auto order_no = waiting(subject, order("1", line("A", 1)));
  CPPUNIT_ASSERT(cancel(subject, order_no, "U-1").outcome == CancelOutcome::Cancelled);
  waiting(subject, order("2", line("A", 1)));
  const auto all = moves(subject, order_no);
  CPPUNIT_ASSERT_EQUAL(std::size_t(3), all.size());
  CPPUNIT_ASSERT(!all[0].from && all[0].to == OrderStatus::Processing);
  CPPUNIT_ASSERT(*all[1].from == OrderStatus::Processing && all[1].to == OrderStatus::WaitingPay);
  CPPUNIT_ASSERT(*all[2].from == OrderStatus::WaitingPay && all[2].to == OrderStatus::Cancelled);
  CPPUNIT_ASSERT(all[2].actor == "user" && all[2].reason == kReasonUser);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CPPUNIT_ASSERT(!all[i].actor.empty() && all[i].at >= begin && all[i].order_no == order_no);
    CPPUNIT_ASSERT(i == 0 || all[i].sequence > all[i - 1].sequence);
  }
  const auto rest = moves(subject, order_no, all[0].sequence);
  CPPUNIT_ASSERT_EQUAL(std::size_t(2), rest.size());
  CPPUNIT_ASSERT(moves(subject, order_no, all[2].sequence).empty());
  CPPUNIT_ASSERT(moves(subject, OrderNo("O-none")).empty());
}

void the_clock_is_the_databases(Subject& subject) {
  // Two processes with clocks apart must agree on what is due.
  load(subject, {stock("A", 10)});
  const auto before = *subject.store().now();
  const auto found = *find(subject, waiting(subject, order("1", line("A", 1))));
  const auto after = *subject.store().now();
  CPPUNIT_ASSERT(found.created_at >= before && found.created_at <= found.updated_at &&
                 found.updated_at <= after);
  CPPUNIT_ASSERT(*found.pay_deadline >= found.created_at + 1h && *found.pay_deadline <= after + 1h);
}

// The books ---------------------------------------------------------------------------------------

void the_same_file_loaded_twice_changes_nothing(Subject& subject) {
  // An operator who is not sure loads it again.
  const std::vector<StockRow> file{stock("A", "W1", 10), stock("A", "W2", 5), stock("B", 3)};
  const auto first = load(subject, file);
  CPPUNIT_ASSERT(first.added == 3 && first.changed == 0 && first.unchanged == 0 && first.problems.empty());
  waiting(subject, order("1", line("A", 12)));
  const auto second = load(subject, file);
  CPPUNIT_ASSERT(second.added == 0 && second.changed == 0 && second.unchanged == 3 &&
                 second.problems.empty());
  expect_books(subject, "A", 3, 0, 12, 0);
}

void a_dry_run_tells_and_writes_nothing(Subject& subject) {
  // What would happen must be what then happens.
  const auto told = load(subject, {stock("A", 10)}, LoadMode::DryRun);
  CPPUNIT_ASSERT(told.added == 1 && told.problems.empty());
  CPPUNIT_ASSERT(books(subject).skus.empty());
  CPPUNIT_ASSERT_EQUAL(told.added, load(subject, {stock("A", 10)}).added);
}

void terms_are_kept_and_may_change(Subject& subject) {
  // The gate sells by exactly these terms.
  auto row = stock("A", 10);
  row.terms = {TimePoint(1'700'000'000'001ms), TimePoint(1'800'000'000'999ms), 2, 3};
  row.name = "Ümläut \"quoted\", 'single' and, comma";
  load(subject, {row});
  const std::vector<Sku> skus{Sku("none"), Sku("A")};
  const auto products = *subject.books().products(skus);
  CPPUNIT_ASSERT(!products[0] && products[1]);
  CPPUNIT_ASSERT(products[1]->terms == row.terms && products[1]->pay_within == 1h);
  CPPUNIT_ASSERT_EQUAL(row.name, products[1]->name);
  CPPUNIT_ASSERT(subject.books().gate_skus()->at(0).terms == row.terms);
  row.terms = {};
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), load(subject, {row}).changed);
  CPPUNIT_ASSERT((*subject.books().products(skus))[1]->terms == SaleTerms{});
}

void a_file_with_a_problem_is_not_loaded_at_all(Subject& subject) {
  // Half a file is worse than none; every problem names its line.
  load(subject, {stock("A", 10)});
  std::vector<StockRow> file{stock("B", 5), stock("A", 11), stock("C", -1),
                             stock("D", 1), stock("E", 1),  stock("E", 1)};
  for (std::size_t i = 0; i < file.size(); ++i) file[i].line = static_cast<int>(i) + 2;
  file[3].currency = "euro";
  const auto own = load(subject, file);
  CPPUNIT_ASSERT_EQUAL(std::size_t(3), own.problems.size());
  CPPUNIT_ASSERT(own.problems[0].line == 4 && own.problems[1].line == 5 && own.problems[2].line == 7);
  file.resize(2);
  const auto against_books = load(subject, file);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), against_books.problems.size());
  CPPUNIT_ASSERT_EQUAL(3, against_books.problems[0].line);
  CPPUNIT_ASSERT_EQUAL(std::size_t(0), against_books.added);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), books(subject).skus.size());
}

void rows_of_one_product_must_agree(Subject& subject) {
  // Two prices for one product: which one would the buyer pay?
  auto other = stock("A", "W2", 5);
  other.line = 2;
  other.price_minor = 999;
  const auto report = load(subject, {stock("A", "W1", 10), other});
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), report.problems.size());
  CPPUNIT_ASSERT_EQUAL(2, report.problems[0].line);
}

void the_gates_image_is_the_books(Subject& subject) {
  // A rebuilt gate must sell exactly what is free, and know every request.
  load(subject, {stock("A", 10), stock("B", 10)});
  const auto processing = accepted(subject, order("1", {{Sku("A"), 2}, {Sku("B"), 1}}));
  const auto locked = waiting(subject, order("2", line("A", 3)));
  const auto paid = waiting(subject, order("3", line("A", 1)));
  CPPUNIT_ASSERT(pay(subject, payment(paid, 1000, "P")).outcome == PayOutcome::Paid);
  const auto ended = waiting(subject, order("4", line("A", 1)));
  CPPUNIT_ASSERT(cancel(subject, ended).outcome == CancelOutcome::Cancelled);
  CPPUNIT_ASSERT(abandon(subject, OrderNo("O-none")) == AbandonOutcome::Abandoned);

  const auto image = *subject.books().gate_image(10);
  CPPUNIT_ASSERT_EQUAL(std::size_t(2), image.skus.size());
  CPPUNIT_ASSERT(image.skus[0].sku.str() == "A" && image.skus[0].free == 4);
  CPPUNIT_ASSERT(image.skus[1].sku.str() == "B" && image.skus[1].free == 9);
  CPPUNIT_ASSERT_EQUAL(std::size_t(2), image.holds.size());
  CPPUNIT_ASSERT(image.holds[0].order_no == processing && image.holds[0].lines.size() == 2);
  CPPUNIT_ASSERT(image.holds[1].order_no == locked && image.holds[1].lines == line("A", 3));
  CPPUNIT_ASSERT(image.holds[1].user.str() == "U-2" && image.holds[1].request.str() == "R-2");
  CPPUNIT_ASSERT(image.holds[1].body.str() == "H-2");
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), image.purchases.size());
  CPPUNIT_ASSERT(image.purchases[0].user.str() == "U-3" && image.purchases[0].quantity == 1);
  CPPUNIT_ASSERT_EQUAL(std::size_t(2), image.answered.size());
  CPPUNIT_ASSERT(image.answered[0].order_no == ended && image.answered[1].order_no == paid);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), subject.books().gate_image(1)->answered.size());
}

void figures_tell_the_backlog(Subject& subject) {
  // What the alarms look at.
  auto row = stock("A", 10);
  row.pay_within = 1ms;
  load(subject, {row});
  auto figures = *subject.books().figures();
  CPPUNIT_ASSERT(figures.outbox.at("NEW") == 0 && figures.outbox_oldest_pending == 0ms);
  waiting(subject, order("1", line("A", 1)));
  CPPUNIT_ASSERT(wait_until([&] { return subject.books().figures()->outbox_oldest_pending > 0ms; }));
  CPPUNIT_ASSERT(
      wait_until([&] { return subject.books().figures()->overdue.at(OrderStatus::WaitingPay) == 1; }));
  figures = *subject.books().figures();
  CPPUNIT_ASSERT_EQUAL(std::int64_t(2), figures.outbox.at("NEW"));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(0), figures.overdue.at(OrderStatus::Processing));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(0), figures.imbalance_units);
}

void the_books_count_every_order(Subject& subject) {
  // A status that nobody counts is where orders get lost.
  load(subject, {stock("A", 3)});
  accepted(subject, order("1", line("A", 1)));
  waiting(subject, order("2", line("A", 1)));
  const auto paid = waiting(subject, order("3", line("A", 1)));
  CPPUNIT_ASSERT(pay(subject, payment(paid, 1000, "P")).outcome == PayOutcome::Paid);
  const auto now = books(subject);
  CPPUNIT_ASSERT_EQUAL(std::size(kAllStatuses), now.orders.size());
  CPPUNIT_ASSERT_EQUAL(std::int64_t(1), now.orders.at(OrderStatus::Processing));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(1), now.orders.at(OrderStatus::WaitingPay));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(1), now.orders.at(OrderStatus::Paid));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(0), now.orders.at(OrderStatus::Refunded));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(6), now.outbox_pending);
  expect_books(subject, "A", 0, 1, 1, 1);
}

void more_held_than_available_is_a_difference(Subject& subject) {
  // The gate oversold: the audit must say so before the buyers do.
  load(subject, {stock("A", 2)});
  accepted(subject, order("1", line("A", 3)));
  const auto now = books(subject);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), now.differences.size());
  CPPUNIT_ASSERT_EQUAL(std::string("negative_free"), now.differences[0].kind);
  CPPUNIT_ASSERT_EQUAL(std::string("A"), now.differences[0].subject);
}

// Crashes -----------------------------------------------------------------------------------------

void arm(const std::string& points) {
  ::setenv("PENSTOCK_FAILPOINTS", points.c_str(), 1);
  if (!fail_point::arm_from_environment()) throw std::logic_error("cannot arm " + points);
}

// A child prepares an order up to the step under test and dies inside it.
void die_inside(Subject& subject, const std::string& point, const std::function<void(Subject&)>& prepare,
                const std::function<void(Subject&)>& step) {
  const int status = subject.in_child([&](Subject& child) {
    load(child, {stock("A", 10)});
    prepare(child);
    arm(point + "=kill");
    step(child);
  });
  CPPUNIT_ASSERT_EQUAL(137, status);
}

void killed_inside_accept_leaves_nothing(Subject& subject) {
  // An order without its event would wait for ever.
  const auto given = order("1", line("A", 1));
  die_inside(
      subject, "store.accept.in_transaction", [](Subject&) {}, [&](Subject& child) { accept(child, given); });
  CPPUNIT_ASSERT(!find(subject, given.order_no));
  CPPUNIT_ASSERT(lease(subject).events.empty());
  accepted(subject, given);
  expect_books(subject, "A", 9, 1, 0, 0);
}

void killed_inside_locking_leaves_the_order_processing(Subject& subject) {
  // The event comes again and must find everything as it was.
  const auto given = order("1", line("A", 1));
  die_inside(
      subject, "store.lock.in_transaction", [&](Subject& child) { accepted(child, given); },
      [&](Subject& child) { lock(child, given.order_no); });
  expect_books(subject, "A", 9, 1, 0, 0);
  CPPUNIT_ASSERT(lock(subject, given.order_no) == LockOutcome::Locked);
  expect_books(subject, "A", 9, 0, 1, 0);
}

void killed_inside_pay_leaves_the_order_payable(Subject& subject) {
  // The provider repeats its callback, and the repeat must sell.
  const auto given = order("1", line("A", 1));
  die_inside(
      subject, "store.pay.in_transaction", [&](Subject& child) { waiting(child, given); },
      [&](Subject& child) { pay(child, payment(given.order_no, 1000, "P")); });
  expect_books(subject, "A", 9, 0, 1, 0);
  CPPUNIT_ASSERT(pay(subject, payment(given.order_no, 1000, "P")).outcome == PayOutcome::Paid);
  expect_books(subject, "A", 9, 0, 0, 1);
}

void killed_inside_cancel_leaves_the_order_waiting(Subject& subject) {
  // Units given back without the order's end would be sold twice.
  const auto given = order("1", line("A", 1));
  die_inside(
      subject, "store.cancel.in_transaction", [&](Subject& child) { waiting(child, given); },
      [&](Subject& child) { cancel(child, given.order_no); });
  expect_books(subject, "A", 9, 0, 1, 0);
  CPPUNIT_ASSERT(cancel(subject, given.order_no).outcome == CancelOutcome::Cancelled);
  expect_books(subject, "A", 10, 0, 0, 0);
}

void a_failure_inside_a_transaction_changes_nothing(Subject& subject) {
  // Unavailable promises that nothing was changed.
  const auto given = order("1", line("A", 1));
  const int status = subject.in_child([&](Subject& child) {
    load(child, {stock("A", 10)});
    arm("store.accept.in_transaction=fail");
    const std::vector<NewOrder> batch{given, order("2", line("A", 1))};
    for (const auto& answer : child.store().accept(batch)) {
      if (answer.ok() || answer.error().code != ErrorCode::Unavailable) throw std::logic_error("not refused");
    }
  });
  CPPUNIT_ASSERT_EQUAL(0, status);
  CPPUNIT_ASSERT(!find(subject, given.order_no));
  expect_books(subject, "A", 10, 0, 0, 0);
}

#define PENSTOCK_CONTRACT(test) \
  { #test, test }
constexpr ContractTest<Subject> kTests[] = {
    PENSTOCK_CONTRACT(an_accepted_order_is_found_as_it_was_given),
    PENSTOCK_CONTRACT(a_repeat_is_a_duplicate_with_the_first_number),
    PENSTOCK_CONTRACT(repeats_within_one_batch_are_one_order),
    PENSTOCK_CONTRACT(one_request_thirty_times_at_once_is_one_order),
    PENSTOCK_CONTRACT(a_key_with_another_body_is_refused),
    PENSTOCK_CONTRACT(request_ids_belong_to_their_user),
    PENSTOCK_CONTRACT(an_unknown_product_refuses_its_order_only),
    PENSTOCK_CONTRACT(a_malformed_order_is_an_error_of_its_own),
    PENSTOCK_CONTRACT(a_number_of_another_request_is_refused),
    PENSTOCK_CONTRACT(prices_are_those_of_the_moment_of_acceptance),
    PENSTOCK_CONTRACT(ids_come_back_digit_for_digit),
    PENSTOCK_CONTRACT(empty_batches_answer_nothing),
    PENSTOCK_CONTRACT(an_abandoned_number_never_becomes_an_order),
    PENSTOCK_CONTRACT(an_accepted_order_cannot_be_abandoned),
    PENSTOCK_CONTRACT(of_accept_and_abandon_exactly_one_wins),
    PENSTOCK_CONTRACT(locking_moves_stock_and_sets_the_deadline),
    PENSTOCK_CONTRACT(not_enough_stock_fails_the_order_with_a_release),
    PENSTOCK_CONTRACT(all_lines_are_locked_or_none),
    PENSTOCK_CONTRACT(two_lines_of_one_product_count_together),
    PENSTOCK_CONTRACT(an_order_may_span_warehouses),
    PENSTOCK_CONTRACT(an_event_has_one_effect),
    PENSTOCK_CONTRACT(locking_an_unknown_order_harms_nobody),
    PENSTOCK_CONTRACT(the_last_units_go_to_as_many_orders),
    PENSTOCK_CONTRACT(crossing_products_do_not_deadlock),
    PENSTOCK_CONTRACT(a_payment_sells_once),
    PENSTOCK_CONTRACT(a_payment_number_belongs_to_one_payment),
    PENSTOCK_CONTRACT(a_wrong_amount_is_refused_and_the_order_stays_payable),
    PENSTOCK_CONTRACT(an_early_payment_changes_nothing_and_may_come_again),
    PENSTOCK_CONTRACT(money_for_an_ended_order_is_to_be_refunded),
    PENSTOCK_CONTRACT(a_payment_for_nothing_is_told_so),
    PENSTOCK_CONTRACT(cancelling_gives_back_exactly_what_is_locked),
    PENSTOCK_CONTRACT(only_its_user_or_the_operator_cancels_an_order),
    PENSTOCK_CONTRACT(paid_and_failed_orders_cannot_be_cancelled),
    PENSTOCK_CONTRACT(an_order_expires_at_its_deadline_and_not_before),
    PENSTOCK_CONTRACT(overdue_orders_are_listed_longest_first_up_to_the_limit),
    PENSTOCK_CONTRACT(ten_releases_of_one_order_give_back_once),
    PENSTOCK_CONTRACT(cancelling_at_each_step_of_the_consumer_nets_to_zero),
    PENSTOCK_CONTRACT(of_pay_cancel_and_expire_exactly_one_wins),
    PENSTOCK_CONTRACT(an_event_tells_of_its_order),
    PENSTOCK_CONTRACT(a_leased_event_belongs_to_one_publisher),
    PENSTOCK_CONTRACT(a_lease_that_ran_out_is_lost),
    PENSTOCK_CONTRACT(verdicts_decide_what_happens_next),
    PENSTOCK_CONTRACT(four_publishers_share_ten_thousand_events_without_a_double),
    PENSTOCK_CONTRACT(events_that_commit_late_are_published_too),
    PENSTOCK_CONTRACT(a_large_backlog_is_leased_in_bounded_pieces),
    PENSTOCK_CONTRACT(watchers_are_woken_by_commits_with_events),
    PENSTOCK_CONTRACT(every_move_says_who_when_and_why),
    PENSTOCK_CONTRACT(the_clock_is_the_databases),
    PENSTOCK_CONTRACT(the_same_file_loaded_twice_changes_nothing),
    PENSTOCK_CONTRACT(a_dry_run_tells_and_writes_nothing),
    PENSTOCK_CONTRACT(terms_are_kept_and_may_change),
    PENSTOCK_CONTRACT(a_file_with_a_problem_is_not_loaded_at_all),
    PENSTOCK_CONTRACT(rows_of_one_product_must_agree),
    PENSTOCK_CONTRACT(the_gates_image_is_the_books),
    PENSTOCK_CONTRACT(figures_tell_the_backlog),
    PENSTOCK_CONTRACT(the_books_count_every_order),
    PENSTOCK_CONTRACT(more_held_than_available_is_a_difference),
    PENSTOCK_CONTRACT(killed_inside_accept_leaves_nothing),
    PENSTOCK_CONTRACT(killed_inside_locking_leaves_the_order_processing),
    PENSTOCK_CONTRACT(killed_inside_pay_leaves_the_order_payable),
    PENSTOCK_CONTRACT(killed_inside_cancel_leaves_the_order_waiting),
    PENSTOCK_CONTRACT(a_failure_inside_a_transaction_changes_nothing),
};
#undef PENSTOCK_CONTRACT

}  // namespace

OrderStoreContract::OrderStoreContract(std::string adapter, Make make)
    : ContractSuite(std::move(adapter), std::move(make), kTests) {}

}  // namespace penstock::testkit
