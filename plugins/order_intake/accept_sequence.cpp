#include "order_intake/accept_sequence.hpp"

#include "penstock/fail_point.hpp"

#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace penstock::order_intake {
namespace {

using orders::AcceptAnswer;
using orders::AcceptOutcome;
using orders::NewOrder;
using orders::OrderNo;
using orders::ReleaseKind;
using orders::ReleaseRequest;
using orders::ReserveAnswer;
using orders::ReserveOutcome;
using orders::ReserveRequest;

// What becomes of a hold once the store has spoken.
enum class Hold {
  Keep,       // the order exists, or may exist
  UndoIfNew,  // nothing was changed now; but an older hold may belong to an accept of unknown outcome
  Undo,       // no order can ever carry this number
};

struct Verdict {
  IntakeAnswer answer;
  Hold hold = Hold::Keep;
  bool again = false;  // worth one more attempt with a new number
};

Verdict verdict_on(const Error& error) {
  switch (error.code) {
    case ErrorCode::NotLoaded:
    case ErrorCode::Unavailable:
    case ErrorCode::Overloaded:
    case ErrorCode::Timeout:
    case ErrorCode::Closed: return {{IntakeOutcome::DependencyDown, {}, {}}, Hold::UndoIfNew};
    case ErrorCode::InvalidArgument: return {{IntakeOutcome::Failed, {}, {}}, Hold::UndoIfNew};
    case ErrorCode::UnknownOutcome: return {{IntakeOutcome::OutcomeUnknown, {}, {}}, Hold::Keep};
    // Broken data and defects promise nothing about what was written: the reconciler looks.
    default: return {{IntakeOutcome::Failed, {}, {}}, Hold::Keep};
  }
}

Verdict verdict_on(const AcceptAnswer& answer, const OrderNo& held) {
  const auto other_order = answer.order_no == held ? Hold::Keep : Hold::Undo;
  switch (answer.outcome) {
    case AcceptOutcome::Accepted: return {{IntakeOutcome::Accepted, held, {}}};
    case AcceptOutcome::Duplicate: return {{IntakeOutcome::Accepted, answer.order_no, {}}, other_order};
    case AcceptOutcome::KeyReused: return {{IntakeOutcome::KeyReused, {}, {}}, other_order};
    case AcceptOutcome::Abandoned: return {{IntakeOutcome::DependencyDown, {}, {}}, Hold::Undo, true};
    case AcceptOutcome::UnknownSku: return {{IntakeOutcome::UnknownProduct, {}, {}}, Hold::UndoIfNew};
  }
  return {{IntakeOutcome::Failed, {}, {}}};
}

Verdict verdict_on(const Result<AcceptAnswer>& result, const OrderNo& held) {
  return result ? verdict_on(*result, held) : verdict_on(result.error());
}

IntakeAnswer refusal_of(const Result<ReserveAnswer>& result) {
  if (!result) {
    if (result.error().code == ErrorCode::NotLoaded) return {IntakeOutcome::NotLoaded, {}, {}};
    return verdict_on(result.error()).answer;
  }
  switch (result->outcome) {
    case ReserveOutcome::KeyReused: return {IntakeOutcome::KeyReused, {}, result->sku};
    case ReserveOutcome::OutOfStock: return {IntakeOutcome::OutOfStock, {}, result->sku};
    case ReserveOutcome::LimitExceeded: return {IntakeOutcome::LimitExceeded, {}, result->sku};
    case ReserveOutcome::NotStarted: return {IntakeOutcome::NotStarted, {}, result->sku};
    case ReserveOutcome::Ended: return {IntakeOutcome::Ended, {}, result->sku};
    default: return {IntakeOutcome::NotLoaded, {}, result->sku};
  }
}

bool is_held(const Result<ReserveAnswer>& result) {
  return result &&
         (result->outcome == ReserveOutcome::Reserved || result->outcome == ReserveOutcome::Replayed);
}

// Ports answer one outcome per item. Without that nobody knows whose outcome is whose, and the holds
// stay for the reconciler.
template <class T>
std::vector<T> one_each(std::vector<T> answers, std::size_t asked, const char* port) {
  if (answers.size() == asked) return answers;
  throw std::logic_error(std::string(port) + " gave " + std::to_string(answers.size()) + " answers to " +
                         std::to_string(asked) + " requests");
}

constexpr std::string_view kAcceptOutcomes[] = {"accepted",  "duplicate",   "key_reused",
                                                "abandoned", "unknown_sku", "error"};

}  // namespace

AcceptSequence::AcceptSequence(orders::StockGate& gate, orders::OrderStore& store,
                               orders::OrderNoGenerator& numbers, Metrics& metrics, Logger& logger)
    : gate_(gate), store_(store), numbers_(numbers), logger_(logger) {
  for (const auto outcome : kAcceptOutcomes) {
    accepts_.push_back(&metrics.counter("penstock_accepts_total", "Orders given to the store, by outcome.",
                                        {{"outcome", std::string(outcome)}}));
  }
}

void AcceptSequence::run(std::span<NewOrder> batch, const Answer& answer) {
  std::vector<Request> requests;
  requests.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) requests.push_back({i, std::move(batch[i])});
  auto given_up = attempt(std::move(requests), answer);
  if (given_up.empty()) return;
  for (const auto& request : attempt(std::move(given_up), answer)) {
    answer(request.place, {IntakeOutcome::DependencyDown, {}, {}});
  }
}

std::vector<AcceptSequence::Request> AcceptSequence::attempt(std::vector<Request> requests,
                                                             const Answer& answer) {
  auto held = reserve(std::move(requests), answer);
  if (held.empty()) return {};
  auto groups = group_by_number(std::move(held));
  const auto results = accept(groups);
  return settle(std::move(groups), results, answer);
}

std::vector<AcceptSequence::Request> AcceptSequence::reserve(std::vector<Request> requests,
                                                             const Answer& answer) {
  std::vector<ReserveRequest> wishes;
  wishes.reserve(requests.size());
  for (auto& [place, order, held_now] : requests) {
    wishes.push_back({numbers_.next(), std::move(order.user), std::move(order.request), std::move(order.body),
                      std::move(order.lines)});
  }
  const auto results = one_each(gate_.reserve(wishes), wishes.size(), "the stock gate");
  std::vector<Request> held;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!is_held(results[i])) {
      answer(requests[i].place, refusal_of(results[i]));
      continue;
    }
    auto& wish = wishes[i];
    held.push_back({requests[i].place,
                    {results[i]->order_no, std::move(wish.user), std::move(wish.request),
                     std::move(wish.body), std::move(wish.lines), std::move(requests[i].order.trace)},
                    results[i]->outcome == ReserveOutcome::Reserved});
  }
  return held;
}

std::vector<AcceptSequence::Group> AcceptSequence::group_by_number(std::vector<Request> requests) {
  std::vector<Group> groups;
  groups.reserve(requests.size());
  std::unordered_map<OrderNo, std::size_t> known;
  known.reserve(requests.size());
  for (auto& request : requests) {
    const auto [entry, is_new] = known.try_emplace(request.order.order_no, groups.size());
    if (is_new) groups.push_back({std::move(request.order), {}, false});
    auto& group = groups[entry->second];
    group.places.push_back(request.place);
    group.held_now |= request.held_now;
  }
  return groups;
}

std::vector<Result<AcceptAnswer>> AcceptSequence::accept(std::vector<Group>& groups) {
  if (const auto armed = fail_point::hit("intake.after_reserve"); !armed) {
    return std::vector<Result<AcceptAnswer>>(groups.size(), armed.error());
  }
  std::vector<NewOrder> orders;
  orders.reserve(groups.size());
  for (auto& group : groups) orders.push_back(std::move(group.order));
  auto results = one_each(store_.accept(orders), orders.size(), "the order store");
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].order = std::move(orders[i]);
  if (const auto armed = fail_point::hit("intake.after_accept"); !armed) {
    // From here on a failure says nothing about what was committed.
    results.assign(groups.size(), Error{ErrorCode::UnknownOutcome, armed.error().message});
  }
  return results;
}

std::vector<AcceptSequence::Request> AcceptSequence::settle(std::vector<Group> groups,
                                                            const std::vector<Result<AcceptAnswer>>& results,
                                                            const Answer& answer) {
  struct Late {
    std::size_t group;
    Verdict verdict;
  };
  std::vector<ReleaseRequest> holds;
  std::vector<Late> late;  // answered after their hold is undone, so that a repeat finds a free unit
  for (std::size_t i = 0; i < groups.size(); ++i) {
    count_accept(results[i]);
    auto& group = groups[i];
    auto verdict = verdict_on(results[i], group.order.order_no);
    const bool undone = verdict.hold == Hold::Undo || (verdict.hold == Hold::UndoIfNew && group.held_now);
    if (!undone) {
      for (const auto place : group.places) answer(place, verdict.answer);
      continue;
    }
    holds.push_back({group.order.order_no, group.order.lines, ReleaseKind::Undone});
    late.push_back({i, std::move(verdict)});
  }
  if (holds.empty()) return {};

  undo(holds);
  std::vector<Request> given_up;
  for (const auto& [index, verdict] : late) {
    for (const auto place : groups[index].places) {
      if (verdict.again)
        given_up.push_back({place, groups[index].order});
      else
        answer(place, verdict.answer);
    }
  }
  return given_up;
}

void AcceptSequence::undo(const std::vector<ReleaseRequest>& holds) {
  const auto results = one_each(gate_.release(holds), holds.size(), "the stock gate");
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::uint64_t suppressed = 0;
    if (results[i] || !kept_holds_.pass(suppressed)) continue;
    logger_.warn("intake_hold_not_undone", {{"order_no", holds[i].order_no.str()},
                                            {"error", results[i].error().message},
                                            {"suppressed", suppressed},
                                            {"next", "the reconciler gives it back"}});
  }
}

void AcceptSequence::count_accept(const Result<AcceptAnswer>& result) {
  const auto slot = result ? static_cast<std::size_t>(result->outcome) : accepts_.size() - 1;
  accepts_[slot]->increment();
  std::uint64_t suppressed = 0;
  if (result || !failures_.pass(suppressed)) return;
  logger_.warn("intake_accept_failed", {{"code", to_string(result.error().code)},
                                        {"error", result.error().message},
                                        {"suppressed", suppressed}});
}

}  // namespace penstock::order_intake
