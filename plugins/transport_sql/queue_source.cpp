#include "transport_sql/queue_source.hpp"

#include "sql/json_rows.hpp"

#include <algorithm>
#include <cstdio>

namespace penstock::transport_sql {
namespace {

using DueRows = std::vector<std::tuple<std::int64_t, std::string, std::string, std::string, std::string,
                                       std::int64_t, std::int64_t, std::string>>;

template <class... Parameters>
DueRows query_due(sql::Transaction& tx, const std::string& text, Parameters... parameters) {
  return tx.query<std::int64_t, std::string, std::string, std::string, std::string, std::int64_t,
                  std::int64_t, std::string>(text, parameters...);
}

const std::string& visible_at(const DueRows& rows) {
  return std::get<7>(rows.front());
}

LeasedBatch to_batch(const LeaseToken& token, DueRows rows) {
  LeasedBatch batch{token, {}, {}, Milliseconds(0)};
  for (auto& [number, id, routing_key, body, trace, attempts, published_ms, visible] : rows) {
    batch.keys.push_back(number);
    batch.deliveries.push_back({EventId(std::move(id)), std::move(routing_key), std::move(body),
                                std::move(trace), static_cast<std::uint32_t>(attempts + 1),
                                TimePoint(Milliseconds(published_ms))});
  }
  return batch;
}

}  // namespace

Result<LeasedBatch> QueueSource::exchange(const std::optional<SettledBatch>& settled, std::size_t max_next) {
  if (!settled) {
    auto ahead = look_ahead();
    if (!ahead || ahead->next_in != Milliseconds(0)) return ahead;
  }
  const auto token = new_token();
  return database_->write([&](sql::Transaction& tx) -> Result<LeasedBatch> {
    if (settled) settle(tx, *settled);
    if (max_next == 0) return LeasedBatch{};
    return lease_due(tx, token, max_next);
  });
}

// An empty batch that says when the next message may be due; zero when it is.
Result<LeasedBatch> QueueSource::look_ahead() {
  return database_->read([&](sql::Transaction& tx) -> Result<LeasedBatch> {
    const auto rows =
        tx.query<std::optional<std::int64_t>>(statements_->next_due, queue_.id, queue_.id, queue_.id);
    LeasedBatch empty;
    const auto& due_in = std::get<0>(rows.at(0));
    if (due_in) empty.next_in = Milliseconds(std::max<std::int64_t>(0, *due_in));
    return empty;
  });
}

void QueueSource::settle(sql::Transaction& tx, const SettledBatch& settled) const {
  const auto& token = settled.batch.token;
  sql::JsonRows done, retry, dead;
  for (std::size_t i = 0; i < settled.verdicts.size(); ++i) {
    const auto key = settled.batch.keys[i];
    const auto& verdict = settled.verdicts[i];
    switch (verdict.kind) {
      case VerdictKind::Done: done.add(key); break;
      case VerdictKind::Dead: dead.add(key, token, verdict.reason); break;
      case VerdictKind::Retry:
      case VerdictKind::RetryAlone:
        retry.add(key, token, verdict.kind == VerdictKind::RetryAlone ? 1 : 0, verdict.after.count(),
                  verdict.reason, queue_.max_attempts - 1);
    }
  }
  if (!done.empty()) tx.execute(statements_->done, token.str(), done.take());
  if (!retry.empty()) tx.execute(statements_->retry, retry.take());
  if (!dead.empty()) tx.execute(statements_->dead, dead.take());
}

// Suspects stand in the same line as the others, by the time they became due.
LeasedBatch QueueSource::lease_due(sql::Transaction& tx, const LeaseToken& token,
                                   std::size_t max_next) const {
  auto [expired, suspects] =
      tx.query<std::int64_t, std::int64_t>(statements_->look, queue_.id, queue_.id).at(0);
  if (expired > 0) reclaim_expired(tx);
  auto due = query_due(tx, statements_->due_messages, queue_.id, static_cast<std::int64_t>(max_next));
  if (expired + suspects > 0) {
    auto suspect = query_due(tx, statements_->due_suspect, queue_.id);
    if (!suspect.empty() && (due.empty() || visible_at(suspect) <= visible_at(due))) due = std::move(suspect);
  }
  if (due.empty()) return LeasedBatch{.token = {}, .deliveries = {}, .keys = {}, .next_in = Milliseconds(0)};
  auto batch = to_batch(token, std::move(due));
  sql::JsonRows numbers;
  for (const auto key : batch.keys) numbers.add(key);
  tx.execute(statements_->lease, token.str(), lease_.count(), numbers.take());
  return batch;
}

void QueueSource::reclaim_expired(sql::Transaction& tx) const {
  const auto reason =
      "gave up after " + std::to_string(queue_.max_attempts) +
      " deliveries; the last was not settled before its lease ran out: its process died or hung";
  const auto most = queue_.max_attempts - 1;
  tx.execute(statements_->park_expired, reason, queue_.id, queue_.max_attempts);
  tx.execute(statements_->reclaim, most, most, queue_.id);
}

Result<void> QueueSource::hand_back(const LeaseToken& token) {
  return database_->write([&](sql::Transaction& tx) -> Result<void> {
    tx.execute(statements_->hand_back, queue_.id, token.str());
    return {};
  });
}

LeaseToken QueueSource::new_token() {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(random_.next()),
                static_cast<unsigned long long>(random_.next()));
  return LeaseToken(text);
}

}  // namespace penstock::transport_sql
