#include "timeout_release/expirer.hpp"

#include "penstock/fail_point.hpp"

#include <algorithm>

namespace penstock::timeout_release {
namespace {

using orders::ExpireAnswer;
using orders::ExpireOutcome;
using orders::Handled;

// Seconds; a release is early enough when nobody notices, and an hour late when everything is down.
const std::vector<double> kLagBuckets{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3'600};

double in_seconds(Milliseconds span) {
  return std::chrono::duration<double>(span).count();
}

}  // namespace

Expirer::Expirer(ExpirerSettings settings, orders::OrderStore& store, Metrics& metrics, Random& random)
    : settings_(settings),
      retry_(settings.retry, random),
      store_(store),
      lag_(metrics.histogram("penstock_release_lag_seconds",
                             "How long after its pay deadline an unpaid order was cancelled.", {},
                             kLagBuckets)),
      sweep_batch_(metrics.histogram("penstock_batch_size", "Items per batch, by stage.",
                                     {{"stage", "sweep"}}, kBatchBuckets)) {}

std::vector<orders::Verdict> Expirer::work(std::span<const orders::EventItem> items) {
  std::vector<orders::OrderNo> numbers;
  numbers.reserve(items.size());
  for (const auto& item : items) numbers.push_back(item.event.order_no);

  const auto answers = store_.expire(numbers);
  if (auto armed = fail_point::hit("timeout.after_expire"); !armed) {
    return retry_.all_failed(items, armed.error());
  }
  std::vector<orders::Verdict> verdicts;
  verdicts.reserve(items.size());
  for (std::size_t i = 0; i < answers.size(); ++i) verdicts.push_back(judge(items[i], answers[i]));
  return verdicts;
}

orders::Verdict Expirer::judge(const orders::EventItem& item, const Result<ExpireAnswer>& answer) {
  if (!answer) return retry_.failed(item, answer.error());
  switch (answer->outcome) {
    case ExpireOutcome::Expired: count_release(*answer); return {Handled::Done, {}, {}};
    case ExpireOutcome::AlreadyEnded: return {Handled::Repeated, {}, {}};
    case ExpireOutcome::NotDue:
      return not_yet(item, answer->span,
                     "the pay deadline is " + std::to_string(answer->span.count()) + " ms away");
    case ExpireOutcome::NotWaiting: return not_yet(item, {}, "the order does not wait for its payment yet");
    case ExpireOutcome::UnknownOrder: break;
  }
  return retry_.unknown_order(item);
}

orders::Verdict Expirer::not_yet(const orders::EventItem& item, Milliseconds rest, std::string reason) const {
  if (item.attempt >= settings_.early_attempts) return {Handled::Repeated, {}, {}};
  auto verdict = retry_.later(item, std::move(reason));
  if (rest.count() > 0) verdict.after = rest;
  return verdict;
}

Result<Milliseconds> Expirer::sweep() {
  const auto overdue = store_.overdue(settings_.max_batch);
  if (!overdue) return overdue.error();
  if (overdue->empty()) return settings_.sweep;
  sweep_batch_.observe(static_cast<double>(overdue->size()));

  std::size_t expired = 0;
  Result<void> outcome;
  for (const auto& answer : store_.expire(*overdue)) {
    if (!answer) {
      outcome = answer.error();
    } else if (answer->outcome == ExpireOutcome::Expired) {
      count_release(*answer);
      ++expired;
    }
  }
  // Orders that fail stay first in line. As long as others of the batch end, the line moves.
  if (expired == 0 && !outcome) return outcome.error();
  const bool more = expired > 0 && overdue->size() >= settings_.max_batch;
  return more ? Milliseconds(0) : settings_.sweep;
}

void Expirer::count_release(const ExpireAnswer& answer) {
  lag_.observe(in_seconds(answer.span));
}

}  // namespace penstock::timeout_release
