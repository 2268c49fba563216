#include "transport_sql/sql_transport.hpp"

#include "penstock/message_check.hpp"
#include "penstock/topology_check.hpp"
#include "sql/json_rows.hpp"

#include <algorithm>

namespace penstock::transport_sql {
namespace {

struct Binding {
  std::int64_t queue_id;
  std::string queue;
};
using Bindings = std::multimap<std::string, Binding, std::less<>>;  // by routing key

Bindings read_bindings(sql::Transaction& tx, const std::string& text) {
  Bindings bindings;
  for (auto& [key, id, name] : tx.query<std::string, std::int64_t, std::string>(text)) {
    bindings.emplace(std::move(key), Binding{id, std::move(name)});
  }
  return bindings;
}

// Rows for one statement; several when the bodies are large, so that none of them takes much memory.
class Insert {
 public:
  Insert(sql::Transaction& tx, const std::string& text) : tx_(tx), text_(text) {}

  void add(std::int64_t queue_id, const Message& message) {
    rows_.add(queue_id, message.id, message.routing_key, message.body, message.trace,
              std::max<std::int64_t>(0, message.delay.count()));
    bytes_ += message.body.size();
    if (bytes_ >= kMaxBytes) flush();
  }

  void flush() {
    if (rows_.empty()) return;
    tx_.execute(text_, rows_.take());
    rows_ = {};
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t kMaxBytes = 4 << 20;

  sql::Transaction& tx_;
  const std::string& text_;
  sql::JsonRows rows_;
  std::size_t bytes_ = 0;
};

std::vector<PublishAnswer> same_for_all(std::size_t count, PublishOutcome outcome,
                                        const std::string& detail) {
  return std::vector<PublishAnswer>(count, PublishAnswer{outcome, detail});
}

}  // namespace

SqlTransport::SqlTransport(SqlTransportSettings settings, std::shared_ptr<sql::Database> database,
                           Clock& clock, Random& random, Logger& logger)
    : settings_(settings),
      database_(std::move(database)),
      statements_(std::make_shared<const Statements>(database_->dialect())),
      clock_(clock),
      random_(random),
      logger_(logger) {}

// Declaring -----------------------------------------------------------------------------------------

Result<void> SqlTransport::declare(const Topology& topology) {
  if (auto sound = check_topology(topology); !sound) return sound;
  return database_->write([&](sql::Transaction& tx) -> Result<void> {
    for (const auto& declared : topology.queues) {
      if (auto done = declare_one(tx, declared); !done) return done;
    }
    return {};
  });
}

Result<void> SqlTransport::declare_one(sql::Transaction& tx, const QueueSpec& declared) const {
  QueueSpec existing{declared.name, {}, declared.max_attempts};
  auto row = find(tx, declared.name);
  if (!row) {
    tx.execute(statements_->add_queue, declared.name.str(), declared.max_attempts);
    row = find(tx, declared.name);
  }
  existing.max_attempts = row->max_attempts;
  for (auto& [key] : tx.query<std::string>(statements_->bindings_of_queue, row->id)) {
    existing.routing_keys.push_back(std::move(key));
  }
  if (auto agrees = check_agreement(existing, declared); !agrees) return agrees;
  for (const auto& key : declared.routing_keys) {
    auto& bound = existing.routing_keys;
    if (std::find(bound.begin(), bound.end(), key) != bound.end()) continue;
    tx.execute(statements_->add_binding, key, row->id);
    bound.push_back(key);
  }
  return {};
}

Result<QueueRow> SqlTransport::find(sql::Transaction& tx, const QueueName& name) const {
  const auto rows = tx.query<std::int64_t, std::int64_t>(statements_->find_queue, name.str());
  if (rows.empty()) return no_such_queue(name);
  return QueueRow{std::get<0>(rows[0]), static_cast<std::uint32_t>(std::get<1>(rows[0]))};
}

// Publishing ----------------------------------------------------------------------------------------

std::vector<PublishAnswer> SqlTransport::publish(std::span<const Message> messages, Deadline deadline) {
  if (messages.empty()) return {};
  if (clock_.steady_now() >= deadline) {
    return same_for_all(messages.size(), PublishOutcome::Refused,
                        "the deadline had passed; nothing was stored");
  }
  auto published = database_->write([&](sql::Transaction& tx) { return store(tx, messages); });
  if (!published) {
    const auto outcome = published.error().retry() == Retry::OutcomeUnknown ? PublishOutcome::Unknown
                                                                            : PublishOutcome::Refused;
    return same_for_all(messages.size(), outcome, published.error().message);
  }
  for (const auto queue_id : published->queues) wake_up_of(queue_id)->wake();
  return std::move(published->answers);
}

Result<SqlTransport::Published> SqlTransport::store(sql::Transaction& tx,
                                                    std::span<const Message> messages) const {
  const auto bindings = read_bindings(tx, statements_->all_bindings);
  Published published;
  Insert insert(tx, statements_->add_messages);
  for (const auto& message : messages) {
    if (auto problem = problem_of(message, settings_.max_body_bytes); !problem.empty()) {
      published.answers.push_back({PublishOutcome::Refused, std::move(problem)});
      continue;
    }
    const auto [first, last] = bindings.equal_range(message.routing_key);
    std::string evidence;
    for (auto binding = first; binding != last; ++binding) {
      const auto& [queue_id, queue] = binding->second;
      insert.add(queue_id, message);
      published.queues.insert(queue_id);
      evidence += (evidence.empty() ? "stored in " : ", ") + queue;
    }
    if (first != last) {
      published.answers.push_back({PublishOutcome::Confirmed, std::move(evidence)});
    } else {
      published.answers.push_back(
          {PublishOutcome::Returned, "no queue is bound to routing key " + message.routing_key});
    }
  }
  insert.flush();
  return published;
}

std::shared_ptr<WakeUp> SqlTransport::wake_up_of(std::int64_t queue_id) {
  const std::lock_guard lock(mutex_);
  auto& wake_up = wake_ups_[queue_id];
  if (!wake_up) wake_up = std::make_shared<WakeUp>();
  return wake_up;
}

// Delivering ----------------------------------------------------------------------------------------

Result<std::unique_ptr<Subscription>> SqlTransport::subscribe(const SubscribeOptions& options,
                                                              DeliveryHandler handler) {
  const auto queue = database_->read([&](sql::Transaction& tx) { return find(tx, options.queue); });
  if (!queue) return queue.error();
  const DeliveryLoopSettings settings{.queue = options.queue.str(),
                                      .max_batch = std::max(1U, options.max_batch),
                                      .concurrency = options.concurrency,
                                      .max_attempts = queue->max_attempts,
                                      .poll = settings_.poll,
                                      .back_off = settings_.back_off};
  auto source = std::make_unique<QueueSource>(database_, statements_, *queue, options.lease, random_);
  return std::unique_ptr<Subscription>(std::make_unique<DeliveryLoop>(
      settings, std::move(source), wake_up_of(queue->id), std::move(handler), logger_, random_));
}

Result<QueueDepth> SqlTransport::depth(const QueueName& name) {
  return database_->read([&](sql::Transaction& tx) -> Result<QueueDepth> {
    const auto queue = find(tx, name);
    if (!queue) return queue.error();
    const auto id = queue->id;
    const auto rows = tx.query<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>(
        statements_->depth, id, id, id, id, id);
    const auto [ready, delayed, leased, expired, dead] = rows.at(0);
    const auto oldest = tx.query<std::optional<std::int64_t>>(statements_->oldest, id);
    const auto count = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    return QueueDepth{count(ready + expired), count(delayed), count(leased), count(dead),
                      Milliseconds(std::get<0>(oldest.at(0)).value_or(0))};
  });
}

// Parked messages -----------------------------------------------------------------------------------

Result<std::vector<DeadLetter>> SqlTransport::list(const QueueName& name, std::size_t limit) {
  return database_->read([&](sql::Transaction& tx) -> Result<std::vector<DeadLetter>> {
    const auto queue = find(tx, name);
    if (!queue) return queue.error();
    std::vector<DeadLetter> letters;
    auto rows = tx.query<std::string, std::string, std::string, std::string, std::int64_t, std::int64_t>(
        statements_->list_dead, queue->id, static_cast<std::int64_t>(limit));
    for (auto& [id, routing_key, body, reason, attempts, parked_ms] : rows) {
      letters.push_back({EventId(std::move(id)), name, std::move(routing_key), std::move(body),
                         std::move(reason), static_cast<std::uint32_t>(attempts),
                         TimePoint(Milliseconds(parked_ms))});
    }
    return letters;
  });
}

Result<ReplayOutcome> SqlTransport::replay(const QueueName& name, const EventId& id) {
  std::int64_t queue_id = 0;
  auto outcome = database_->write([&](sql::Transaction& tx) -> Result<ReplayOutcome> {
    const auto queue = find(tx, name);
    if (!queue) return queue.error();
    queue_id = queue->id;
    const bool replayed = tx.execute(statements_->replay, queue_id, id.str()) == 1;
    return replayed ? ReplayOutcome::Replayed : ReplayOutcome::NotDead;
  });
  if (outcome && *outcome == ReplayOutcome::Replayed) wake_up_of(queue_id)->wake();
  return outcome;
}

Result<bool> SqlTransport::drop(const QueueName& name, const EventId& id) {
  return database_->write([&](sql::Transaction& tx) -> Result<bool> {
    const auto queue = find(tx, name);
    if (!queue) return queue.error();
    return tx.execute(statements_->drop, queue->id, id.str()) == 1;
  });
}

}  // namespace penstock::transport_sql
