#include "order_intake/order_watcher.hpp"

#include "order_intake/answers.hpp"

#include <algorithm>
#include <unordered_map>

namespace penstock::order_intake {
namespace {

using orders::Order;
using orders::OrderMove;
using orders::OrderNo;

// Long enough to cost nothing; an arriving watch wakes the worker.
constexpr Milliseconds kNothingToWatch{60'000};

HttpResponse nothing_more() {
  HttpResponse response;
  response.status = 204;
  response.content_type.clear();
  return response;
}

std::vector<OrderNo> numbers_of(std::span<const WatchRequest> requests) {
  std::vector<OrderNo> numbers;
  for (const auto& request : requests) numbers.push_back(request.order_no);
  return numbers;
}

// The orders that their users may see, each once, and the earliest sequence any of them misses.
struct Missing {
  std::vector<OrderNo> orders;
  std::int64_t after = 0;
};

void make_unique(std::vector<OrderNo>& orders) {
  std::sort(orders.begin(), orders.end());
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
}

bool may_see(const WatchRequest& request, const std::optional<Order>& order) {
  return order && order->user == request.user;
}

}  // namespace

OrderWatcher::OrderWatcher(OrderWatcherSettings settings, orders::OrderStore& store, Metrics& metrics,
                           Logger& logger)
    : settings_(settings),
      store_(store),
      watched_gauge_(metrics.gauge("penstock_watched_orders", "Open streams of order events.", {})),
      worker_({.name = "intake-watch"}, logger, [this] { return poll(); }) {}

Result<void> OrderWatcher::begin(std::span<WatchRequest> requests) {
  const auto orders = store_.find(numbers_of(requests));
  if (!orders) return orders.error();

  Missing missing;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!may_see(requests[i], (*orders)[i])) continue;
    const auto last = requests[i].last_sequence;
    missing.after = missing.orders.empty() ? last : std::min(missing.after, last);
    missing.orders.push_back(requests[i].order_no);
  }
  make_unique(missing.orders);
  std::vector<OrderMove> moves;
  if (!missing.orders.empty()) {
    auto found = store_.moves_after(missing.orders, missing.after);
    if (!found) return found.error();
    moves = std::move(found).value();
  }

  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& order = (*orders)[i];
    if (may_see(requests[i], order))
      begin_one(requests[i], *order, moves);
    else
      requests[i].reply->send(not_found("there is no such order"));
  }
  return {};
}

void OrderWatcher::begin_one(WatchRequest& request, const Order& order, std::span<const OrderMove> moves) {
  const auto is_new = [&](const OrderMove& move) {
    return move.order_no == request.order_no && move.sequence > request.last_sequence;
  };
  // 204 tells an EventSource to stop reconnecting.
  if (is_final(order.status) && std::none_of(moves.begin(), moves.end(), is_new)) {
    return request.reply->send(nothing_more());
  }
  if (watched_ >= settings_.max_watched) return request.reply->send(backlog());

  Watch watch{request.order_no, request.last_sequence, request.reply->stream()};
  if (!watch.stream) return;
  for (const auto& move : moves) {
    if (is_new(move)) deliver(watch, move);
  }
  if (watch.ended) return watch.stream->close();
  watched_gauge_.set(static_cast<double>(++watched_));
  {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(watch));
  }
  worker_.wake();
}

bool OrderWatcher::stop(Deadline deadline) {
  if (!worker_.stop(deadline)) return false;
  adopt_arrived();
  for (auto& watch : watches_) watch.ended = true;
  drop_ended();
  return true;
}

Result<Milliseconds> OrderWatcher::poll() {
  adopt_arrived();
  for (auto& watch : watches_) watch.ended |= !watch.stream->open();
  drop_ended();
  if (watches_.empty()) return kNothingToWatch;

  // Neighbours in sequence share a query, so that it reads few moves that they have already.
  std::sort(watches_.begin(), watches_.end(),
            [](const Watch& a, const Watch& b) { return a.last_sequence < b.last_sequence; });
  const std::span<Watch> all(watches_);
  for (std::size_t from = 0; from < all.size(); from += settings_.max_batch) {
    const auto done = poll_chunk(all.subspan(from, std::min(settings_.max_batch, all.size() - from)));
    if (!done) return done.error();
  }
  drop_ended();
  return settings_.every;
}

Result<void> OrderWatcher::poll_chunk(std::span<Watch> chunk) {
  std::vector<OrderNo> orders;
  std::unordered_multimap<OrderNo, Watch*> watchers;
  for (auto& watch : chunk) {
    orders.push_back(watch.order_no);
    watchers.emplace(watch.order_no, &watch);
  }
  make_unique(orders);
  const auto moves = store_.moves_after(orders, chunk.front().last_sequence);
  if (!moves) return moves.error();
  for (const auto& move : *moves) {
    const auto [begin, end] = watchers.equal_range(move.order_no);
    for (auto entry = begin; entry != end; ++entry) deliver(*entry->second, move);
  }
  return {};
}

void OrderWatcher::deliver(Watch& watch, const OrderMove& move) {
  if (watch.ended || move.sequence <= watch.last_sequence) return;
  watch.last_sequence = move.sequence;
  const bool sent = watch.stream->send_event(std::to_string(move.sequence), "move", move_data(move));
  watch.ended = !sent || is_final(move.to);
}

void OrderWatcher::adopt_arrived() {
  const std::lock_guard lock(mutex_);
  std::move(arrived_.begin(), arrived_.end(), std::back_inserter(watches_));
  arrived_.clear();
}

void OrderWatcher::drop_ended() {
  const auto ended =
      std::partition(watches_.begin(), watches_.end(), [](const Watch& w) { return !w.ended; });
  for (auto watch = ended; watch != watches_.end(); ++watch) watch->stream->close();
  watched_ -= static_cast<std::size_t>(watches_.end() - ended);
  watches_.erase(ended, watches_.end());
  watched_gauge_.set(static_cast<double>(watched_));
}

}  // namespace penstock::order_intake
