// SqlTransport: queues in the tables of schema/<dialect>/002_transport.sql.
//
// publish() is one transaction for the whole batch. An id is in a queue at most once: publishing it
// again while it is there, parked or not, confirms it and changes nothing. Subscriptions of this
// object are woken by its own publishes; those of other processes are found by polling.
#pragma once

#include "penstock/delivery_loop.hpp"
#include "penstock/transport.hpp"
#include "sql/database.hpp"
#include "transport_sql/queue_source.hpp"
#include "transport_sql/statements.hpp"

#include <map>
#include <mutex>
#include <set>

namespace penstock::transport_sql {

struct SqlTransportSettings {
  std::size_t max_body_bytes;
  Milliseconds poll;
  BackOff back_off;
};

class SqlTransport : public Transport, public DeadLetters {
 public:
  // Does no I/O. Clock, random and logger must outlive it and its subscriptions.
  SqlTransport(SqlTransportSettings settings, std::shared_ptr<sql::Database> database, Clock& clock,
               Random& random, Logger& logger);

  TransportTraits traits() const override { return {}; }
  Result<void> declare(const Topology& topology) override;
  std::vector<PublishAnswer> publish(std::span<const Message> messages, Deadline deadline) override;
  [[nodiscard]] Result<std::unique_ptr<Subscription>> subscribe(const SubscribeOptions& options,
                                                                DeliveryHandler handler) override;
  Result<QueueDepth> depth(const QueueName& queue) override;

  Result<std::vector<DeadLetter>> list(const QueueName& queue, std::size_t limit) override;
  Result<ReplayOutcome> replay(const QueueName& queue, const EventId& id) override;
  Result<bool> drop(const QueueName& queue, const EventId& id) override;

 private:
  struct Published {
    std::vector<PublishAnswer> answers;
    std::set<std::int64_t> queues;  // that got something
  };

  Result<void> declare_one(sql::Transaction& tx, const QueueSpec& declared) const;
  Result<Published> store(sql::Transaction& tx, std::span<const Message> messages) const;
  Result<QueueRow> find(sql::Transaction& tx, const QueueName& name) const;
  std::shared_ptr<WakeUp> wake_up_of(std::int64_t queue_id);

  const SqlTransportSettings settings_;
  const std::shared_ptr<sql::Database> database_;
  const std::shared_ptr<const Statements> statements_;
  Clock& clock_;
  Random& random_;
  Logger& logger_;

  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<WakeUp>> wake_ups_;  // by queue id
};

}  // namespace penstock::transport_sql
