#include "order_intake/order_watcher.hpp"

#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_order_store.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <set>

namespace {

using namespace penstock;
using namespace penstock::orders;
using namespace penstock::order_intake;
using testkit::wait_until;

// The client's end of one request: its answer, or its stream.
class Client : public HttpReply::Sink, public HttpStream, public std::enable_shared_from_this<Client> {
 public:
  void send(HttpResponse response) override {
    const std::lock_guard lock(mutex_);
    status_ = response.status;
  }
  std::shared_ptr<HttpStream> stream() override {
    const std::lock_guard lock(mutex_);
    status_ = 200;
    return shared_from_this();
  }
  bool send_event(std::string_view id, std::string_view, std::string_view) override {
    const std::lock_guard lock(mutex_);
    if (gone_) return false;
    ids_.emplace_back(id);
    return true;
  }
  bool open() const override {
    const std::lock_guard lock(mutex_);
    return !gone_ && !closed_;
  }
  void close() override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void hang_up() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
  }

  int status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  std::string ids() const {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const auto& id : ids_) all += (all.empty() ? "" : ",") + id;
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> ids_;
  int status_ = 0;
  bool gone_ = false;
  bool closed_ = false;
};

class OrderWatcherTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OrderWatcherTest);
  CPPUNIT_TEST(a_client_sees_what_was_and_what_comes_until_the_end);
  CPPUNIT_TEST(a_client_that_comes_back_gets_only_what_it_missed);
  CPPUNIT_TEST(an_ended_order_is_told_whole_and_closed);
  CPPUNIT_TEST(a_client_that_has_seen_the_end_is_told_to_stay_away);
  CPPUNIT_TEST(orders_of_other_users_do_not_exist);
  CPPUNIT_TEST(a_move_that_becomes_visible_late_is_not_lost);
  CPPUNIT_TEST(all_watched_orders_share_one_query);
  CPPUNIT_TEST(nobody_watching_means_nothing_asked);
  CPPUNIT_TEST(two_clients_of_one_order_both_see_it);
  CPPUNIT_TEST(more_clients_than_allowed_are_sent_away);
  CPPUNIT_TEST(a_client_that_hangs_up_makes_room);
  CPPUNIT_TEST(a_store_that_is_away_loses_no_move);
  CPPUNIT_TEST(stopping_ends_every_stream);
  CPPUNIT_TEST(a_store_that_fails_at_the_start_leaves_the_requests_unanswered);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeContext context_;
  testkit::FakeOrderStore store_;
  // The database: read by the store's hooks, under the store's lock.
  std::mutex mutex_;
  std::vector<OrderMove> moves_;
  std::atomic<int> queries_{0};
  std::atomic<std::size_t> widest_query_{0};
  std::atomic<bool> away_{false};

 public:
  void setUp() override {
    store_.on_find = [this](std::span<const OrderNo> numbers) -> Result<std::vector<std::optional<Order>>> {
      if (away_) return Error{ErrorCode::Unavailable, "away"};
      std::vector<std::optional<Order>> found;
      for (const auto& number : numbers) found.push_back(find(number));
      return found;
    };
    store_.on_moves = [this](std::span<const OrderNo> numbers,
                             std::int64_t after) -> Result<std::vector<OrderMove>> {
      ++queries_;
      widest_query_ = std::max(widest_query_.load(), numbers.size());
      if (away_) return Error{ErrorCode::Unavailable, "away"};
      const std::set<OrderNo> wanted(numbers.begin(), numbers.end());
      const std::lock_guard lock(mutex_);
      std::vector<OrderMove> found;
      for (const auto& move : moves_) {
        if (wanted.contains(move.order_no) && move.sequence > after) found.push_back(move);
      }
      std::sort(found.begin(), found.end(),
                [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
      return found;
    };
  }

  void a_client_sees_what_was_and_what_comes_until_the_end() {
    // The stream is the client's only way to learn of the payment's deadline and the end.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    const auto client = watch(watcher, "a");
    CPPUNIT_ASSERT_EQUAL(200, client->status());
    CPPUNIT_ASSERT_EQUAL(std::string("1"), client->ids());
    move(2, "b", OrderStatus::Processing);
    move(3, "a", OrderStatus::WaitingPay);
    CPPUNIT_ASSERT(wait_until([&] { return client->ids() == "1,3"; }));
    CPPUNIT_ASSERT(!client->closed());
    move(4, "a", OrderStatus::Paid);
    CPPUNIT_ASSERT(wait_until([&] { return client->closed(); }));
    CPPUNIT_ASSERT_EQUAL(std::string("1,3,4"), client->ids());
    CPPUNIT_ASSERT(wait_until([&] { return context_.metrics().value("penstock_watched_orders") == 0; }));
  }

  void a_client_that_comes_back_gets_only_what_it_missed() {
    // Last-Event-ID: nothing twice, nothing lost.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    move(2, "a", OrderStatus::WaitingPay);
    const auto client = watch(watcher, "a", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("2"), client->ids());
  }

  void an_ended_order_is_told_whole_and_closed() {
    // Nothing more will come, so the connection is given back.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    move(2, "a", OrderStatus::Failed);
    const auto client = watch(watcher, "a");
    CPPUNIT_ASSERT(client->closed());
    CPPUNIT_ASSERT_EQUAL(std::string("1,2"), client->ids());
  }

  void a_client_that_has_seen_the_end_is_told_to_stay_away() {
    // A browser reconnects for ever unless it is answered 204.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    move(2, "a", OrderStatus::Cancelled);
    CPPUNIT_ASSERT_EQUAL(204, watch(watcher, "a", 2)->status());
  }

  void orders_of_other_users_do_not_exist() {
    // 404 and not 403: even the existence of an order is its owner's business.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    CPPUNIT_ASSERT_EQUAL(404, watch(watcher, "a", 0, "stranger")->status());
    CPPUNIT_ASSERT_EQUAL(404, watch(watcher, "unknown")->status());
  }

  void a_move_that_becomes_visible_late_is_not_lost() {
    // Sequences of different orders may be committed out of order.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    move(2, "b", OrderStatus::Processing);
    const auto a = watch(watcher, "a");
    const auto b = watch(watcher, "b");
    move(9, "b", OrderStatus::WaitingPay);
    CPPUNIT_ASSERT(wait_until([&] { return b->ids() == "2,9"; }));
    move(5, "a", OrderStatus::WaitingPay);
    CPPUNIT_ASSERT(wait_until([&] { return a->ids() == "1,5"; }));
  }

  void all_watched_orders_share_one_query() {
    // A query per watched order would drown the database.
    auto wide = settings();
    wide.max_batch = 100;
    OrderWatcher watcher(wide, store_, context_.metrics(), context_.logger());
    std::vector<std::shared_ptr<Client>> clients;
    for (int i = 0; i < 50; ++i) {
      move(i + 1, "o" + std::to_string(i), OrderStatus::Processing);
      clients.push_back(watch(watcher, "o" + std::to_string(i)));
    }
    CPPUNIT_ASSERT(wait_until([&] { return widest_query_ == 50; }));
    for (int i = 0; i < 50; ++i) move(100 + i, "o" + std::to_string(i), OrderStatus::Paid);
    CPPUNIT_ASSERT(wait_until([&] {
      return std::all_of(clients.begin(), clients.end(), [](const auto& client) { return client->closed(); });
    }));
  }

  void nobody_watching_means_nothing_asked() {
    // Polling for nobody is load without use.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    const auto client = watch(watcher, "a");
    move(2, "a", OrderStatus::Paid);
    CPPUNIT_ASSERT(wait_until([&] { return context_.metrics().value("penstock_watched_orders") == 0; }));
    CPPUNIT_ASSERT(client->closed());
    const auto asked = queries_.load();
    // Thirty poll intervals.
    CPPUNIT_ASSERT(!wait_until([&] { return queries_ != asked; }, Milliseconds(60)));
  }

  void two_clients_of_one_order_both_see_it() {
    // A buyer may watch on the phone and on the desk.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    const auto phone = watch(watcher, "a");
    const auto desk = watch(watcher, "a", 1);
    move(2, "a", OrderStatus::Paid);
    CPPUNIT_ASSERT(wait_until([&] { return phone->closed() && desk->closed(); }));
    CPPUNIT_ASSERT_EQUAL(std::string("1,2"), phone->ids());
    CPPUNIT_ASSERT_EQUAL(std::string("2"), desk->ids());
  }

  void more_clients_than_allowed_are_sent_away() {
    // Memory and queries stay bounded whoever comes.
    auto small = settings();
    small.max_watched = 1;
    OrderWatcher watcher(small, store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    const auto first = watch(watcher, "a");
    CPPUNIT_ASSERT_EQUAL(503, watch(watcher, "a")->status());
    move(2, "a", OrderStatus::Paid);
    CPPUNIT_ASSERT(wait_until([&] { return first->closed(); }));
  }

  void a_client_that_hangs_up_makes_room() {
    // Dead connections must not use up the limit.
    auto small = settings();
    small.max_watched = 1;
    OrderWatcher watcher(small, store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    watch(watcher, "a")->hang_up();
    CPPUNIT_ASSERT(wait_until([&] { return watch(watcher, "a")->status() == 200; }));
  }

  void a_store_that_is_away_loses_no_move() {
    // The stream goes on where it was when the store is back.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    const auto client = watch(watcher, "a");
    const auto asked = queries_.load();
    away_ = true;
    CPPUNIT_ASSERT(wait_until([&] { return queries_ > asked; }));
    move(2, "a", OrderStatus::Cancelled);
    away_ = false;
    CPPUNIT_ASSERT(wait_until([&] { return client->closed(); }));
    CPPUNIT_ASSERT_EQUAL(std::string("1,2"), client->ids());
  }

  void stopping_ends_every_stream() {
    // A stream that nobody feeds any more must not keep its client waiting.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    move(1, "a", OrderStatus::Processing);
    const auto client = watch(watcher, "a");
    CPPUNIT_ASSERT(watcher.stop(std::chrono::steady_clock::now() + std::chrono::seconds(10)));
    CPPUNIT_ASSERT(client->closed());
  }

  void a_store_that_fails_at_the_start_leaves_the_requests_unanswered() {
    // The lane then answers all of them alike.
    OrderWatcher watcher(settings(), store_, context_.metrics(), context_.logger());
    away_ = true;
    const auto client = std::make_shared<Client>();
    WatchRequest request{OrderNo("a"), UserId("u"), 0, std::make_shared<PendingReply>(HttpReply(client))};
    CPPUNIT_ASSERT(!watcher.begin({&request, 1}).ok());
    CPPUNIT_ASSERT_EQUAL(0, client->status());
  }

 private:
  static OrderWatcherSettings settings() { return {Milliseconds(2), 1'000, 10}; }

  void move(std::int64_t sequence, const std::string& order, OrderStatus to) {
    const std::lock_guard lock(mutex_);
    moves_.push_back({sequence, OrderNo(order), {}, to, "test", "", {}});
  }

  std::optional<Order> find(const OrderNo& number) {
    const std::lock_guard lock(mutex_);
    std::optional<Order> order;
    for (const auto& move : moves_) {
      if (move.order_no != number) continue;
      if (!order) order.emplace();
      order->order_no = number;
      order->user = UserId("u");
      order->status = move.to;
    }
    return order;
  }

  static std::shared_ptr<Client> watch(OrderWatcher& watcher, const std::string& order, std::int64_t last = 0,
                                       const std::string& user = "u") {
    const auto client = std::make_shared<Client>();
    WatchRequest request{OrderNo(order), UserId(user), last,
                         std::make_shared<PendingReply>(HttpReply(client))};
    CPPUNIT_ASSERT(watcher.begin({&request, 1}).ok());
    return client;
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OrderWatcherTest);

}  // namespace
