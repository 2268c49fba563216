#include "outbox_publisher/publisher.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/orders/events.hpp"

#include <algorithm>
#include <string_view>

namespace penstock::outbox_publisher {
namespace {

using orders::OutboxMark;
using orders::OutboxVerdict;

// Rows tried at a time while the transport takes nothing.
constexpr std::size_t kOutageBatch = 10;
// Marking is idempotent, and a row that is not marked is published again: one more try is worth it.
constexpr int kMarkTries = 2;

constexpr std::pair<PublishOutcome, std::string_view> kOutcomes[] = {{PublishOutcome::Confirmed, "confirmed"},
                                                                     {PublishOutcome::Returned, "returned"},
                                                                     {PublishOutcome::Refused, "refused"},
                                                                     {PublishOutcome::Unknown, "unknown"}};

bool has(const std::vector<PublishAnswer>& answers, PublishOutcome outcome) {
  return std::any_of(answers.begin(), answers.end(),
                     [&](const PublishAnswer& answer) { return answer.outcome == outcome; });
}

}  // namespace

Publisher::Publisher(PublisherSettings settings, Context& context, orders::OrderStore& store,
                     Transport& transport)
    : settings_(settings),
      clock_(context.clock()),
      random_(context.random()),
      logger_(context.logger()),
      store_(store),
      transport_(transport),
      probe_(context.health().probe("transport")),
      batch_size_(context.metrics().histogram("penstock_batch_size", "Items per batch, by stage.",
                                              {{"stage", "publish"}}, kBatchBuckets)),
      late_marks_(context.metrics().counter("penstock_outbox_late_marks_total",
                                            "Marks refused because the row's lease had run out.", {})) {
  for (const auto& [outcome, name] : kOutcomes) {
    published_[outcome] = &context.metrics().counter(
        "penstock_outbox_publishes_total", "Publishes, by outcome.", {{"outcome", std::string(name)}});
  }
}

Result<Milliseconds> Publisher::step() {
  if (!declared_) {
    if (auto declared = declare(); !declared) return declared.error();
  }
  const auto limit = batch_limit();
  auto lease = store_.lease_outbox(limit, settings_.lease);
  if (!lease) return lease.error();
  if (lease->events.empty()) return settings_.poll;
  if (auto armed = fail_point::hit("outbox.after_lease"); !armed) return armed.error();

  const auto answers = publish(lease->events);
  if (auto armed = fail_point::hit("outbox.after_publish"); !armed) return armed.error();
  const auto marks = judge(lease->events, answers);
  if (auto marked = mark(lease->token, marks); !marked) return marked.error();
  return next_wait(lease->events, limit, marks);
}

Result<void> Publisher::declare() {
  auto declared = transport_.declare(orders::order_topology(settings_.queue_max_attempts));
  if (!declared) {
    probe_->not_ready("queues not declared: " + declared.error().message);
    return declared;
  }
  declared_ = true;
  if (fruitless_batches_ == 0) probe_->ready();
  return {};
}

std::size_t Publisher::batch_limit() const {
  return fruitless_batches_ == 0 ? settings_.max_batch : std::min(kOutageBatch, settings_.max_batch);
}

Publisher::Answers Publisher::publish(const Events& events) {
  std::vector<Message> messages;
  messages.reserve(events.size());
  for (const auto& event : events) {
    messages.push_back({event.id, event.type, event.body, event.trace, event.due_in});
  }
  batch_size_.observe(static_cast<double>(messages.size()));
  auto answers = transport_.publish(messages, clock_.deadline_in(settings_.publish_timeout));
  // A transport that answers too little has told nothing about the rest.
  answers.resize(messages.size(), {PublishOutcome::Unknown, "the transport gave no answer"});
  for (const auto& answer : answers) published_.at(answer.outcome)->increment();
  note_transport(answers);
  return answers;
}

void Publisher::note_transport(const Answers& answers) {
  // A returned message is the mark of a queue that is gone, and a transport that was away may have
  // come back without its queues: declaring again brings them back.
  if (has(answers, PublishOutcome::Returned)) declared_ = false;
  if (has(answers, PublishOutcome::Confirmed)) {
    fruitless_batches_ = 0;
    probe_->ready();
    return;
  }
  // A few rows that the transport does not like say nothing about the transport.
  const bool outage =
      fruitless_batches_ > 0 || answers.size() > kOutageBatch || has(answers, PublishOutcome::Unknown);
  if (!outage) return;
  ++fruitless_batches_;
  declared_ = false;
  const auto& reason = answers.front().detail;
  probe_->not_ready("takes no message: " + reason);
  if (std::uint64_t suppressed = 0; outages_.pass(suppressed)) {
    logger_.warn("outbox_nothing_confirmed",
                 {{"rows", answers.size()}, {"reason", reason}, {"suppressed", suppressed}});
  }
}

std::vector<OutboxMark> Publisher::judge(const Events& events, const Answers& answers) {
  std::vector<OutboxMark> marks;
  marks.reserve(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) marks.push_back(judge_one(events[i], answers[i]));
  return marks;
}

OutboxMark Publisher::judge_one(const orders::OutboxEvent& event, const PublishAnswer& answer) {
  const auto attempt = event.attempts + 1;
  switch (answer.outcome) {
    case PublishOutcome::Confirmed: return {event.id, OutboxVerdict::Sent, answer.detail, {}};
    case PublishOutcome::Unknown:
      return {event.id, OutboxVerdict::Retry, "not confirmed: " + answer.detail,
              wait_before(1, {settings_.unknown_retry, settings_.unknown_retry}, random_)};
    default: break;
  }
  const bool returned = answer.outcome == PublishOutcome::Returned;
  auto reason = std::string(returned ? "returned: " : "refused: ") + answer.detail;
  if (attempt < settings_.max_attempts) {
    return {event.id, OutboxVerdict::Retry, std::move(reason),
            wait_before(attempt, settings_.retry, random_)};
  }
  reason += " (given up after " + std::to_string(attempt) + " publishes)";
  if (std::uint64_t suppressed = 0; dead_rows_.pass(suppressed)) {
    logger_.error("outbox_row_dead",
                  {{"event", event.id.str()}, {"reason", reason}, {"suppressed", suppressed}});
  }
  return {event.id, OutboxVerdict::Dead, std::move(reason), {}};
}

Result<void> Publisher::mark(const LeaseToken& token, const std::vector<OutboxMark>& marks) {
  auto outcomes = store_.mark_outbox(token, marks);
  for (int tries = 1; tries < kMarkTries && !outcomes; ++tries) outcomes = store_.mark_outbox(token, marks);
  if (!outcomes) return outcomes.error();
  const auto late = std::count(outcomes->begin(), outcomes->end(), orders::MarkOutcome::LeaseLost);
  if (late == 0) return {};
  late_marks_.add(static_cast<double>(late));
  if (std::uint64_t suppressed = 0; late_rows_.pass(suppressed)) {
    logger_.warn("outbox_lease_lost", {{"rows", late}, {"suppressed", suppressed}});
  }
  return {};
}

Milliseconds Publisher::next_wait(const Events& events, std::size_t limit,
                                  const std::vector<OutboxMark>& marks) const {
  if (fruitless_batches_ > 1) {
    return wait_before(fruitless_batches_ - 1, {settings_.unknown_retry, 10 * settings_.unknown_retry},
                       random_);
  }
  if (events.size() >= limit) return Milliseconds(0);
  auto wait = settings_.poll;
  for (const auto& mark : marks) {
    if (mark.verdict == OutboxVerdict::Retry) wait = std::min(wait, mark.after);
  }
  return std::max(wait, Milliseconds(1));
}

}  // namespace penstock::outbox_publisher
