// The HTTP order API: checks each request on the listener's thread, lets a lane do what waits, and
// answers from there.
//
// One lane per kind of work, so that a slow kind holds up no other. A full lane, an outbox over its
// backlog and a stopping server answer 503 at once.
#pragma once

#include "order_intake/accept_sequence.hpp"
#include "order_intake/dependency_watch.hpp"
#include "order_intake/order_watcher.hpp"
#include "order_intake/pending_reply.hpp"
#include "order_intake/product_catalogue.hpp"
#include "penstock/http.hpp"
#include "penstock/lane.hpp"
#include "penstock/orders/order_no.hpp"
#include "penstock/orders/order_store.hpp"
#include "penstock/orders/stock_books.hpp"
#include "penstock/orders/stock_gate.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <variant>

namespace penstock::order_intake {

struct OrderApiSettings {
  std::size_t accept_max_batch = 500;
  std::size_t accept_max_queue = 10'000;
  std::size_t query_max_batch = 500;
  std::size_t query_max_queue = 10'000;
  std::size_t max_body_bytes = 64 * 1024;
  std::int64_t max_backlog = 50'000;
  Milliseconds store_poll{250};
  Milliseconds gate_poll{250};
  ProductCatalogueSettings products;
  OrderWatcherSettings events;
  std::string openapi;  // the API's description, served as it is
};

struct OrderApiPorts {
  orders::StockGate& gate;
  orders::OrderStore& store;
  orders::StockBooks& books;
  Clock& clock;
  Random& random;
  Metrics& metrics;
  Health& health;
  Logger& logger;
};

class OrderApi {
 public:
  OrderApi(OrderApiSettings settings, OrderApiPorts ports);

  // The routes call this object: it must outlive them.
  void add_routes(HttpRoutes& routes);
  // Effect: answers STOPPING from now on, finishes what was taken, ends the streams, joins all threads.
  Result<void> stop(Deadline deadline);

 private:
  struct AcceptJob {
    orders::NewOrder order;
    PendingReplyPtr reply;
  };
  struct FindJob {
    orders::OrderNo order_no;
    orders::UserId user;
  };
  using Nothing = std::monostate;  // a lane whose handler answers by itself

  void create(const HttpRequest& request, HttpReply reply);
  void find(const HttpRequest& request, HttpReply reply);
  void events(const HttpRequest& request, HttpReply reply);
  void cancel(const HttpRequest& request, HttpReply reply);
  void pay(const HttpRequest& request, HttpReply reply);
  void product(const HttpRequest& request, HttpReply reply);

  std::vector<Result<Nothing>> accept_batch(std::span<AcceptJob> jobs);
  std::vector<Result<std::optional<orders::Order>>> find_batch(std::span<FindJob> jobs);
  std::vector<Result<Nothing>> watch_batch(std::span<WatchRequest> requests);

  // The refusal of a request that may not even be looked at now.
  std::optional<HttpResponse> shed();
  HttpResponse lane_full();
  // The answer for an error of a port, which the client is told little of and the log everything.
  HttpResponse failed(const Error& error);
  LaneSettings query_lane(std::string stage) const;
  // Gives the request to the lane and answers with `respond` of what comes out of it.
  template <class Request, class Answer, class Respond>
  void answer_by(Lane<Request, Answer>& lane, Request request, HttpReply reply, Respond respond);
  // Gives the request to a lane that answers by itself, and answers what it does not.
  template <class Request>
  void hand_to(Lane<Request, Nothing>& lane, Request request, const PendingReplyPtr& reply);

  const OrderApiSettings settings_;
  OrderApiPorts ports_;
  Counter& shed_backlog_;
  Counter& shed_lane_full_;
  Counter& shed_stopping_;
  LogLimit failures_{std::chrono::seconds(5)};
  std::atomic<bool> stopping_{false};
  orders::OrderNoGenerator numbers_;
  AcceptSequence sequence_;
  GateWatch gate_watch_;
  StoreWatch store_watch_;
  ProductCatalogue products_;
  OrderWatcher watcher_;
  // Last: their threads use all of the above.
  Lane<AcceptJob, Nothing> accept_lane_;
  Lane<FindJob, std::optional<orders::Order>> find_lane_;
  Lane<orders::CancelRequest, orders::CancelAnswer> cancel_lane_;
  Lane<orders::Payment, orders::PayAnswer> pay_lane_;
  Lane<orders::Sku, HttpResponse> product_lane_;
  Lane<WatchRequest, Nothing> watch_lane_;
};

}  // namespace penstock::order_intake
