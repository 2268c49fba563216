#include "order_intake/order_api.hpp"

#include "order_intake/answers.hpp"
#include "order_intake/order_request.hpp"
#include "order_intake/request_headers.hpp"

#include <utility>

namespace penstock::order_intake {
namespace {

using orders::CancelAnswer;
using orders::CancelRequest;
using orders::NewOrder;
using orders::Order;
using orders::OrderNo;
using orders::PayAnswer;
using orders::Payment;
using orders::Sku;

Counter& shed_counter(Metrics& metrics, std::string reason) {
  return metrics.counter("penstock_intake_shed_total", "Requests refused with 503 unread, by reason.",
                         {{"reason", std::move(reason)}});
}

// The order a path names. A number that no order can have is answered like one that no order has.
std::optional<OrderNo> order_of(const HttpRequest& request) {
  const auto number = request.param("orderNo");
  if (!orders::is_valid_id(number)) return std::nullopt;
  return OrderNo(number);
}

HttpResponse no_such_order() {
  return not_found("there is no such order");
}

}  // namespace

OrderApi::OrderApi(OrderApiSettings settings, OrderApiPorts ports)
    : settings_(std::move(settings)),
      ports_(ports),
      shed_backlog_(shed_counter(ports.metrics, "backlog")),
      shed_lane_full_(shed_counter(ports.metrics, "lane_full")),
      shed_stopping_(shed_counter(ports.metrics, "stopping")),
      numbers_(ports.clock, ports.random),
      sequence_(ports.gate, ports.store, numbers_, ports.metrics, ports.logger),
      gate_watch_(settings_.gate_poll, ports.gate, ports.health, ports.logger),
      store_watch_(settings_.store_poll, settings_.max_backlog, ports.books, ports.health, ports.logger),
      products_(settings_.products, ports.books, gate_watch_, ports.clock),
      watcher_(settings_.events, ports.store, ports.metrics, ports.logger),
      accept_lane_({.stage = "accept",
                    .max_batch = settings_.accept_max_batch,
                    .max_queue = settings_.accept_max_queue,
                    .workers = 1},  // AcceptSequence runs alone
                   ports.metrics, [this](std::span<AcceptJob> jobs) { return accept_batch(jobs); }),
      find_lane_(query_lane("find"), ports.metrics,
                 [this](std::span<FindJob> jobs) { return find_batch(jobs); }),
      cancel_lane_(query_lane("cancel"), ports.metrics,
                   [this](std::span<CancelRequest> requests) { return ports_.store.cancel(requests); }),
      pay_lane_(query_lane("pay"), ports.metrics,
                [this](std::span<Payment> payments) { return ports_.store.pay(payments); }),
      product_lane_(query_lane("product"), ports.metrics,
                    [this](std::span<Sku> skus) { return products_.load(skus); }),
      watch_lane_(query_lane("watch"), ports.metrics,
                  [this](std::span<WatchRequest> requests) { return watch_batch(requests); }) {}

void OrderApi::add_routes(HttpRoutes& routes) {
  const auto add = [&](HttpMethod method, std::string path, auto handler) {
    routes.add({HttpListener::Public, method, std::move(path), settings_.max_body_bytes,
                [this, handler](const HttpRequest& request, HttpReply reply) {
                  (this->*handler)(request, std::move(reply));
                }});
  };
  add(HttpMethod::Post, "/api/orders", &OrderApi::create);
  add(HttpMethod::Get, "/api/orders/{orderNo}", &OrderApi::find);
  add(HttpMethod::Get, "/api/orders/{orderNo}/events", &OrderApi::events);
  add(HttpMethod::Post, "/api/orders/{orderNo}/cancel", &OrderApi::cancel);
  add(HttpMethod::Post, "/api/payments/callback", &OrderApi::pay);
  add(HttpMethod::Get, "/api/products/{productId}", &OrderApi::product);
  routes.add({HttpListener::Public, HttpMethod::Get, "/openapi.json", settings_.max_body_bytes,
              [this](const HttpRequest&, HttpReply reply) {
                HttpResponse response;
                response.body = settings_.openapi;
                reply.send(std::move(response));
              }});
}

void OrderApi::create(const HttpRequest& request, HttpReply reply) {
  auto user = user_of(request);
  if (!user) return reply.send(unauthenticated());
  if (!is_json(request)) return reply.send(unsupported_media_type());
  if (auto refusal = shed()) return reply.send(std::move(*refusal));
  auto order = parse_order(request.body());
  if (!order) return reply.send(malformed(order.error().message));

  auto pending = std::make_shared<PendingReply>(std::move(reply));
  AcceptJob job{{OrderNo(), std::move(*user), std::move(order->request), std::move(order->hash),
                 std::move(order->lines), trace_of(request)},
                pending};
  hand_to(accept_lane_, std::move(job), pending);
}

void OrderApi::find(const HttpRequest& request, HttpReply reply) {
  auto user = user_of(request);
  if (!user) return reply.send(unauthenticated());
  auto order_no = order_of(request);
  if (!order_no) return reply.send(no_such_order());
  answer_by(find_lane_, FindJob{std::move(*order_no), std::move(*user)}, std::move(reply),
            [](const std::optional<Order>& order) { return order ? order_found(*order) : no_such_order(); });
}

void OrderApi::events(const HttpRequest& request, HttpReply reply) {
  auto user = user_of(request);
  if (!user) return reply.send(unauthenticated());
  auto order_no = order_of(request);
  if (!order_no) return reply.send(no_such_order());
  const auto last = last_sequence_of(request);
  if (!last) return reply.send(malformed("Last-Event-ID: allowed is the id of an event of this stream"));

  const auto pending = std::make_shared<PendingReply>(std::move(reply));
  hand_to(watch_lane_, WatchRequest{std::move(*order_no), std::move(*user), *last, pending}, pending);
}

void OrderApi::cancel(const HttpRequest& request, HttpReply reply) {
  auto user = user_of(request);
  if (!user) return reply.send(unauthenticated());
  auto order_no = order_of(request);
  if (!order_no) return reply.send(no_such_order());
  if (!request.body().empty() && !is_json(request)) return reply.send(unsupported_media_type());
  const auto body = parse_cancellation(request.body());
  if (!body) return reply.send(malformed(body.error().message));
  CancelRequest wish{*order_no, std::move(*user), "user"};
  answer_by(cancel_lane_, std::move(wish), std::move(reply),
            [order_no = std::move(*order_no)](const CancelAnswer& answer) {
              return cancel_answer(order_no, answer);
            });
}

void OrderApi::pay(const HttpRequest& request, HttpReply reply) {
  if (!is_json(request)) return reply.send(unsupported_media_type());
  auto payment = parse_payment(request.body());
  if (!payment) return reply.send(malformed(payment.error().message));
  Payment job = *payment;
  answer_by(
      pay_lane_, std::move(job), std::move(reply),
      [payment = std::move(*payment)](const PayAnswer& answer) { return payment_answer(payment, answer); });
}

void OrderApi::product(const HttpRequest& request, HttpReply reply) {
  const auto id = request.param("productId");
  if (!orders::is_valid_id(id)) return reply.send(not_found("there is no such product"));
  Sku sku(id);
  if (auto kept = products_.kept(sku)) return reply.send(std::move(*kept));
  answer_by(product_lane_, std::move(sku), std::move(reply),
            [](const HttpResponse& response) { return response; });
}

std::vector<Result<OrderApi::Nothing>> OrderApi::accept_batch(std::span<AcceptJob> jobs) {
  std::vector<NewOrder> orders;
  std::vector<std::size_t> line_counts;
  orders.reserve(jobs.size());
  line_counts.reserve(jobs.size());
  for (auto& job : jobs) {
    line_counts.push_back(job.order.lines.size());
    orders.push_back(std::move(job.order));
  }
  sequence_.run(orders, [&](std::size_t place, const IntakeAnswer& answer) {
    jobs[place].reply->send(order_answer(answer, line_counts[place]));
  });
  return std::vector<Result<Nothing>>(jobs.size(), Nothing{});
}

std::vector<Result<std::optional<Order>>> OrderApi::find_batch(std::span<FindJob> jobs) {
  std::vector<OrderNo> numbers;
  numbers.reserve(jobs.size());
  for (const auto& job : jobs) numbers.push_back(job.order_no);
  auto found = ports_.store.find(numbers);
  if (!found) return std::vector<Result<std::optional<Order>>>(jobs.size(), found.error());
  std::vector<Result<std::optional<Order>>> answers;
  answers.reserve(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    auto& order = (*found)[i];
    if (order && order->user != jobs[i].user) order.reset();
    answers.emplace_back(std::move(order));
  }
  return answers;
}

std::vector<Result<OrderApi::Nothing>> OrderApi::watch_batch(std::span<WatchRequest> requests) {
  const auto begun = watcher_.begin(requests);
  if (!begun) return std::vector<Result<Nothing>>(requests.size(), begun.error());
  return std::vector<Result<Nothing>>(requests.size(), Nothing{});
}

std::optional<HttpResponse> OrderApi::shed() {
  if (stopping_) {
    shed_stopping_.increment();
    return stopping();
  }
  if (!store_watch_.over_backlog()) return std::nullopt;
  shed_backlog_.increment();
  return backlog();
}

HttpResponse OrderApi::lane_full() {
  if (stopping_) {
    shed_stopping_.increment();
    return stopping();
  }
  shed_lane_full_.increment();
  return backlog();
}

HttpResponse OrderApi::failed(const Error& error) {
  std::uint64_t suppressed = 0;
  if (error.code != ErrorCode::Closed && failures_.pass(suppressed)) {
    ports_.logger.warn(
        "intake_request_failed",
        {{"code", to_string(error.code)}, {"error", error.message}, {"suppressed", suppressed}});
  }
  return failure(error);
}

LaneSettings OrderApi::query_lane(std::string stage) const {
  return {.stage = std::move(stage),
          .max_batch = settings_.query_max_batch,
          .max_queue = settings_.query_max_queue,
          .workers = 1};
}

template <class Request, class Answer, class Respond>
void OrderApi::answer_by(Lane<Request, Answer>& lane, Request request, HttpReply reply, Respond respond) {
  const auto pending = std::make_shared<PendingReply>(std::move(reply));
  const bool taken = lane.submit(std::move(request), [this, pending, respond](Result<Answer> answer) {
    pending->send(answer ? respond(*answer) : failed(answer.error()));
  });
  if (!taken) pending->send(lane_full());
}

template <class Request>
void OrderApi::hand_to(Lane<Request, Nothing>& lane, Request request, const PendingReplyPtr& reply) {
  const bool taken = lane.submit(std::move(request), [this, reply](Result<Nothing> done) {
    if (!done) reply->send(failed(done.error()));
  });
  if (!taken) reply->send(lane_full());
}

Result<void> OrderApi::stop(Deadline deadline) {
  stopping_ = true;
  accept_lane_.drain(deadline);
  cancel_lane_.drain(deadline);
  pay_lane_.drain(deadline);
  find_lane_.drain(deadline);
  product_lane_.drain(deadline);
  watch_lane_.drain(deadline);
  const bool watcher = watcher_.stop(deadline);
  const bool gate = gate_watch_.stop(deadline);
  const bool store = store_watch_.stop(deadline);
  if (watcher && gate && store) return {};
  return Error{ErrorCode::Timeout, std::string("order_intake: still waiting for the ") +
                                       (gate ? "order store" : "stock gate") + " at the deadline"};
}

}  // namespace penstock::order_intake
