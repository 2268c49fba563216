// Order events for watching clients: what has happened so far, then every further move, until the
// order has ended.
//
// One worker asks the store for all watched orders together; orders that nobody watches cost nothing.
// Moves of one order are committed one after the other, so each client's last sequence is enough to
// know what it still misses, also when sequences of different orders become visible out of order.
#pragma once

#include "order_intake/pending_reply.hpp"
#include "penstock/metrics.hpp"
#include "penstock/orders/order_store.hpp"
#include "penstock/worker.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace penstock::order_intake {

struct WatchRequest {
  orders::OrderNo order_no;
  orders::UserId user;
  std::int64_t last_sequence = 0;  // the client has everything up to here
  PendingReplyPtr reply;
};

struct OrderWatcherSettings {
  Milliseconds every{200};
  std::size_t max_watched = 1'000;
  std::size_t max_batch = 500;  // orders per query
};

class OrderWatcher {
 public:
  OrderWatcher(OrderWatcherSettings settings, orders::OrderStore& store, Metrics& metrics, Logger& logger);

  // Effect: answers each request: 404 where the order is not the user's, 204 where it has ended and
  // the client has seen all of it, 503 over the limit, otherwise a stream. Blocks for two queries.
  // One call at a time. Errors: the store's; then the requests are unanswered.
  Result<void> begin(std::span<WatchRequest> requests);

  // Effect: ends all streams. False when a query was still running at the deadline.
  [[nodiscard]] bool stop(Deadline deadline);

 private:
  struct Watch {
    orders::OrderNo order_no;
    std::int64_t last_sequence = 0;
    std::shared_ptr<HttpStream> stream;
    bool ended = false;
  };

  void begin_one(WatchRequest& request, const orders::Order& order, std::span<const orders::OrderMove> moves);
  Result<Milliseconds> poll();
  Result<void> poll_chunk(std::span<Watch> chunk);
  void adopt_arrived();
  void drop_ended();
  static void deliver(Watch& watch, const orders::OrderMove& move);

  const OrderWatcherSettings settings_;
  orders::OrderStore& store_;
  Gauge& watched_gauge_;
  std::atomic<std::size_t> watched_{0};

  std::mutex mutex_;
  std::vector<Watch> arrived_;
  std::vector<Watch> watches_;  // the worker's own
  Worker worker_;               // last: it uses all of the above
};

}  // namespace penstock::order_intake
