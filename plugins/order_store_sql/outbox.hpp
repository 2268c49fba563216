// The outbox: events written with the rows they tell of, leased by publishers, marked by lease token.
#pragma once

#include "penstock/orders/order_store.hpp"
#include "sql/database.hpp"

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::order_store_sql {

struct NewEvent {
  std::string_view type;
  orders::OrderNo order_no;
  std::span<const orders::Line> lines;
};

// Calls everyone who waits for outbox rows. Thread-safe.
class OutboxWatchers {
 public:
  [[nodiscard]] std::unique_ptr<orders::OutboxWatch> add(std::function<void()> wake);
  void wake_all();

 private:
  // Outlives the store if a watch does.
  struct Registered {
    std::mutex mutex;  // held while calling, so that removal waits for a running call
    std::list<std::function<void()>> wakes;
  };
  class Watch;
  std::shared_ptr<Registered> registered_ = std::make_shared<Registered>();
};

class Outbox {
 public:
  Outbox(sql::Database& database, Random& random);

  // Effect: one row per event, due at once, or at the order's pay deadline for order.pay_due. The
  // orders' rows must have been written before. Thread rule: in the caller's transaction.
  void add(sql::Transaction& tx, std::span<const NewEvent> events) const;

  Result<orders::OutboxLease> lease(std::size_t max, Milliseconds span);
  Result<std::vector<orders::MarkOutcome>> mark(const LeaseToken& token,
                                                std::span<const orders::OutboxMark> marks);

 private:
  LeaseToken new_token();
  std::vector<orders::MarkOutcome> mark_rows(sql::Transaction& tx, const LeaseToken& token,
                                             std::span<const orders::OutboxMark> marks) const;

  sql::Database& database_;
  Random& random_;
  const std::string add_;
  const std::string pending_;
  const std::string lease_;
  const std::string leased_;
  const std::string mark_;
};

}  // namespace penstock::order_store_sql
