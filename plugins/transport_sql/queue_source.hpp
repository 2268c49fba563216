// QueueSource: one queue of the database, as a subscription leases from it and settles into it.
//
// Settling one batch and leasing the next is one transaction. An idle queue is only read, so waiting
// consumers never stand in the line of those who write. Due times and leases are the database's clock.
//
// A message is a *suspect* once it outlived its lease: its process may have died of it. Suspects are
// leased one at a time, so a message that kills its process takes nobody with it to the dead letters.
#pragma once

#include "penstock/delivery_loop.hpp"
#include "sql/database.hpp"
#include "transport_sql/statements.hpp"

namespace penstock::transport_sql {

struct QueueRow {
  std::int64_t id = 0;
  std::uint32_t max_attempts = 0;
};

class QueueSource : public DeliverySource {
 public:
  QueueSource(std::shared_ptr<sql::Database> database, std::shared_ptr<const Statements> statements,
              QueueRow queue, Milliseconds lease, Random& random)
      : database_(std::move(database)),
        statements_(std::move(statements)),
        queue_(queue),
        lease_(lease),
        random_(random) {}

  Result<LeasedBatch> exchange(const std::optional<SettledBatch>& settled, std::size_t max_next) override;
  Result<void> hand_back(const LeaseToken& token) override;

 private:
  Result<LeasedBatch> look_ahead();
  void settle(sql::Transaction& tx, const SettledBatch& settled) const;
  LeasedBatch lease_due(sql::Transaction& tx, const LeaseToken& token, std::size_t max_next) const;
  void reclaim_expired(sql::Transaction& tx) const;
  LeaseToken new_token();

  const std::shared_ptr<sql::Database> database_;
  const std::shared_ptr<const Statements> statements_;
  const QueueRow queue_;
  const Milliseconds lease_;
  Random& random_;
};

}  // namespace penstock::transport_sql
