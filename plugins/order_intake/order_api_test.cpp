#include "order_intake/order_api.hpp"
#include "order_intake/answers.hpp"

#include "penstock/json.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_order_store.hpp"
#include "penstock/testkit/fake_stock_books.hpp"
#include "penstock/testkit/fake_stock_gate.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <future>

namespace {

using namespace penstock;
using namespace penstock::orders;
using namespace penstock::order_intake;
using testkit::wait_until;

// A gate that holds whoever asks until it is opened.
class Barrier {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  int waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

class OrderApiTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OrderApiTest);
  CPPUNIT_TEST(an_accepted_order_is_answered_202_with_its_place);
  CPPUNIT_TEST(a_product_number_comes_back_as_a_string_digit_for_digit);
  CPPUNIT_TEST(who_does_not_say_who_he_is_gets_401);
  CPPUNIT_TEST(another_content_type_gets_415);
  CPPUNIT_TEST(a_malformed_body_gets_400_and_changes_nothing);
  CPPUNIT_TEST(every_refusal_has_its_status_and_code);
  CPPUNIT_TEST(a_refused_order_of_several_products_names_the_one);
  CPPUNIT_TEST(the_trace_context_travels_with_the_order);
  CPPUNIT_TEST(only_its_owner_can_read_an_order);
  CPPUNIT_TEST(an_order_is_shown_with_its_lines_and_deadline);
  CPPUNIT_TEST(cancelling_answers_what_became_of_the_order);
  CPPUNIT_TEST(paying_answers_what_became_of_the_payment);
  CPPUNIT_TEST(a_product_is_shown_with_its_free_units);
  CPPUNIT_TEST(a_crowd_at_one_product_costs_one_query);
  CPPUNIT_TEST(an_order_is_followed_to_its_end);
  CPPUNIT_TEST(a_bad_last_event_id_gets_400);
  CPPUNIT_TEST(a_full_lane_answers_503_backlog);
  CPPUNIT_TEST(an_outbox_over_its_backlog_answers_503_until_it_drains);
  CPPUNIT_TEST(a_store_that_is_away_answers_503_and_shows_in_health);
  CPPUNIT_TEST(a_gate_that_is_not_loaded_shows_in_health);
  CPPUNIT_TEST(stopping_finishes_what_was_taken_and_refuses_the_rest);
  CPPUNIT_TEST(a_throwing_store_answers_500_once);
  CPPUNIT_TEST(instants_are_written_in_utc_with_milliseconds);
  CPPUNIT_TEST_SUITE_END();

  using Call = testkit::RecordingRoutes::Call;

  std::unique_ptr<testkit::FakeContext> context_;
  testkit::FakeStockGate gate_;
  testkit::FakeOrderStore store_;
  testkit::FakeStockBooks books_;
  // What the hooks use while the API's threads run.
  Barrier barrier_;
  std::atomic<std::int64_t> pending_{0};
  std::atomic<bool> loaded_{false};
  std::unique_ptr<OrderApi> api_;

 public:
  void setUp() override { context_ = std::make_unique<testkit::FakeContext>(); }
  void tearDown() override { api_.reset(); }

  void an_accepted_order_is_answered_202_with_its_place() {
    // 202 is the promise; Location is where it can be followed.
    start();
    const auto answer = order(R"({"productId":"p","quantity":1,"requestId":"r"})");
    CPPUNIT_ASSERT_EQUAL(202, answer.status);
    const auto number = text(answer, "orderNo");
    CPPUNIT_ASSERT_EQUAL(std::size_t{26}, number.size());
    CPPUNIT_ASSERT_EQUAL(std::string("PROCESSING"), text(answer, "status"));
    CPPUNIT_ASSERT_EQUAL("/api/orders/" + number, header(answer, "Location"));
    CPPUNIT_ASSERT_EQUAL(number, store_.accepted()[0].order_no.str());
  }

  void a_product_number_comes_back_as_a_string_digit_for_digit() {
    // 2^53 + 1: the first number that a client's doubles cannot hold.
    store_.on_find = [](std::span<const OrderNo> numbers) {
      Order found;
      found.order_no = numbers[0];
      found.user = UserId("u");
      found.lines.push_back({Sku("9007199254740993"), 1, 100});
      return std::vector<std::optional<Order>>{found};
    };
    start();
    CPPUNIT_ASSERT_EQUAL(202, order(R"({"productId":9007199254740993,"quantity":1,"requestId":"r"})").status);
    CPPUNIT_ASSERT_EQUAL(std::string("9007199254740993"), store_.accepted()[0].lines[0].sku.str());
    const auto shown = call({HttpMethod::Get, "/api/orders/o1", "", {{"X-User-Id", "u"}}, {}});
    CPPUNIT_ASSERT(shown.body.find(R"("productId":"9007199254740993")") != std::string::npos);
  }

  void who_does_not_say_who_he_is_gets_401() {
    // A missing or odd user would share orders between strangers.
    start();
    for (const auto* path : {"/api/orders/o1", "/api/orders/o1/events"}) {
      assert_problem(401, "UNAUTHENTICATED", call({HttpMethod::Get, path, "", {}, {}}));
    }
    assert_problem(401, "UNAUTHENTICATED", call({HttpMethod::Post, "/api/orders/o1/cancel", "", {}, {}}));
    for (const auto* user : {"", "a b", "a,b", "=?utf-8?Q?a?="}) {
      const Call bad{
          HttpMethod::Post, "/api/orders", kOrder, {{"X-User-Id", user}, {"Content-Type", kJson}}, {}};
      assert_problem(401, "UNAUTHENTICATED", call(bad));
    }
    CPPUNIT_ASSERT(gate_.reserved().empty());
  }

  void another_content_type_gets_415() {
    // A form posted by somebody else's page must not become an order.
    start();
    for (const auto* type : {"text/plain", "application/x-www-form-urlencoded", "application/jsonx", "",
                             "application/json; charset=latin1"}) {
      assert_problem(
          415, "UNSUPPORTED_MEDIA_TYPE",
          call({HttpMethod::Post, "/api/orders", kOrder, {{"X-User-Id", "u"}, {"Content-Type", type}}, {}}));
    }
    for (const auto* type : {"application/json", "Application/JSON", "application/json; charset=UTF-8"}) {
      const Call good{
          HttpMethod::Post, "/api/orders", kOrder, {{"X-User-Id", "u"}, {"Content-Type", type}}, {}};
      CPPUNIT_ASSERT_EQUAL_MESSAGE(type, 202, call(good).status);
    }
    assert_problem(415, "UNSUPPORTED_MEDIA_TYPE",
                   call({HttpMethod::Post, "/api/payments/callback", "{}", {}, {}}));
  }

  void a_malformed_body_gets_400_and_changes_nothing() {
    // The answer names the place, so that it can be mended.
    start();
    const auto answer = order(
        R"({"requestId":"r","items":[{"productId":"a","quantity":1},{"productId":"b","quantity":-5}]})");
    assert_problem(400, "MALFORMED", answer);
    CPPUNIT_ASSERT(text(answer, "detail").starts_with("items[1].quantity: found -5"));
    assert_problem(400, "MALFORMED", order("{"));
    CPPUNIT_ASSERT(gate_.reserved().empty());
  }

  void every_refusal_has_its_status_and_code() {
    // Clients decide by code whether to try again, wait or give up.
    struct Row {
      ReserveOutcome outcome;
      int status;
      const char* code;
    };
    std::atomic<ReserveOutcome> says{ReserveOutcome::Reserved};
    gate_.on_reserve = [&](const ReserveRequest&) { return ReserveAnswer{says, {}, Sku("p")}; };
    start();
    for (const auto& [outcome, status, code] :
         {Row{ReserveOutcome::OutOfStock, 409, "STOCK_NOT_ENOUGH"},
          Row{ReserveOutcome::LimitExceeded, 409, "LIMIT_EXCEEDED"},
          Row{ReserveOutcome::NotStarted, 409, "NOT_STARTED"}, Row{ReserveOutcome::Ended, 409, "ENDED"},
          Row{ReserveOutcome::KeyReused, 422, "KEY_REUSED"},
          Row{ReserveOutcome::NotLoaded, 503, "NOT_LOADED"}}) {
      says = outcome;
      const auto answer = order(kOrder);
      assert_problem(status, code, answer);
      CPPUNIT_ASSERT_EQUAL(status == 503, !header(answer, "Retry-After").empty());
    }
  }

  void a_refused_order_of_several_products_names_the_one() {
    // Otherwise the client cannot tell which line to drop.
    gate_.on_reserve = [](const ReserveRequest&) {
      return ReserveAnswer{ReserveOutcome::OutOfStock, {}, Sku("b")};
    };
    start();
    const auto answer =
        order(R"({"requestId":"r","items":[{"productId":"a","quantity":1},{"productId":"b","quantity":1}]})");
    assert_problem(409, "STOCK_NOT_ENOUGH", answer);
    CPPUNIT_ASSERT_EQUAL(std::string("b"), text(answer, "productId"));
  }

  void the_trace_context_travels_with_the_order() {
    // Only a well-formed one: the header comes from outside.
    start();
    const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (const auto& [sent, kept] : {std::pair{trace, trace},
                                     {std::string("00-zz"), std::string()},
                                     {std::string(55, 'a'), std::string()}}) {
      call({HttpMethod::Post,
            "/api/orders",
            kOrder,
            {{"X-User-Id", "u"}, {"Content-Type", kJson}, {"traceparent", sent}},
            {}});
      CPPUNIT_ASSERT_EQUAL(kept, store_.accepted().back().trace);
    }
  }

  void only_its_owner_can_read_an_order() {
    // 404 for strangers: even the existence of an order is its owner's business.
    know_order();
    start();
    CPPUNIT_ASSERT_EQUAL(200, call({HttpMethod::Get, "/api/orders/o1", "", {{"X-User-Id", "u"}}, {}}).status);
    assert_problem(404, "NOT_FOUND", call({HttpMethod::Get, "/api/orders/o1", "", {{"X-User-Id", "v"}}, {}}));
    assert_problem(404, "NOT_FOUND", call({HttpMethod::Get, "/api/orders/o2", "", {{"X-User-Id", "u"}}, {}}));
    assert_problem(404, "NOT_FOUND",
                   call({HttpMethod::Get, "/api/orders/o 1", "", {{"X-User-Id", "u"}}, {}}));
    assert_problem(404, "NOT_FOUND",
                   call({HttpMethod::Get, "/api/orders/o1/events", "", {{"X-User-Id", "v"}}, {}}));
  }

  void an_order_is_shown_with_its_lines_and_deadline() {
    // The client needs the deadline to pay in time and the amount to pay right.
    know_order();
    start();
    const auto answer = call({HttpMethod::Get, "/api/orders/o1", "", {{"X-User-Id", "u"}}, {}});
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"orderNo":"o1","requestId":"r1","status":"WAITING_PAY","amount":3998,)"
                    R"("currency":"EUR","items":[{"productId":"p","quantity":2,"unitPrice":1999}],)"
                    R"("createdAt":"2024-02-29T12:00:00.005Z","updatedAt":"2024-02-29T12:00:01.005Z",)"
                    R"("payDeadline":"2024-02-29T12:15:01.005Z"})"),
        answer.body);
  }

  void cancelling_answers_what_became_of_the_order() {
    // Cancelling twice is one cancellation; what cannot be cancelled says why.
    std::atomic<CancelOutcome> says{CancelOutcome::Cancelled};
    store_.on_cancel = [&](const CancelRequest&) { return CancelAnswer{says, OrderStatus::Paid}; };
    start();
    const Call cancel{HttpMethod::Post, "/api/orders/o1/cancel", "", {{"X-User-Id", "u"}}, {}};
    for (const auto outcome : {CancelOutcome::Cancelled, CancelOutcome::AlreadyCancelled}) {
      says = outcome;
      const auto answer = call(cancel);
      CPPUNIT_ASSERT_EQUAL(200, answer.status);
      CPPUNIT_ASSERT_EQUAL(std::string("CANCELLED"), text(answer, "status"));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("u"), store_.cancelled()[0].user.str());
    CPPUNIT_ASSERT_EQUAL(std::string("user"), store_.cancelled()[0].actor);
    CPPUNIT_ASSERT_EQUAL(std::string("o1"), store_.cancelled()[0].order_no.str());
    says = CancelOutcome::NotCancellable;
    assert_problem(409, "ORDER_NOT_CANCELLABLE", call(cancel));
    says = CancelOutcome::UnknownOrder;
    assert_problem(404, "NOT_FOUND", call(cancel));
    const Call with_body{HttpMethod::Post,
                         "/api/orders/o1/cancel",
                         R"({"why":1})",
                         {{"X-User-Id", "u"}, {"Content-Type", kJson}},
                         {}};
    assert_problem(400, "MALFORMED", call(with_body));
  }

  void paying_answers_what_became_of_the_payment() {
    // A provider repeats its call until it hears 2xx: that must mean "recorded", never "lost".
    struct Row {
      PayOutcome outcome;
      int status;
      const char* code;
    };
    std::atomic<PayOutcome> says{PayOutcome::Paid};
    store_.on_pay = [&](const Payment&) { return PayAnswer{says, OrderStatus::Cancelled}; };
    start();
    for (const auto& [outcome, status, code] :
         {Row{PayOutcome::Paid, 200, "PAID"}, Row{PayOutcome::Repeated, 200, "REPEATED"},
          Row{PayOutcome::RefundRequired, 200, "REFUND_REQUIRED"},
          Row{PayOutcome::NotPayable, 409, "ORDER_NOT_PAYABLE"},
          Row{PayOutcome::WrongAmount, 409, "WRONG_AMOUNT"}, Row{PayOutcome::NumberReused, 422, "KEY_REUSED"},
          Row{PayOutcome::UnknownOrder, 404, "NOT_FOUND"}}) {
      says = outcome;
      const auto answer = pay("1999");
      CPPUNIT_ASSERT_EQUAL_MESSAGE(code, status, answer.status);
      CPPUNIT_ASSERT_EQUAL(std::string(code), text(answer, status == 200 ? "outcome" : "code"));
    }
    const auto payment = store_.paid()[0];
    CPPUNIT_ASSERT_EQUAL(std::string("bank/n1/o1/1999/EUR"),
                         payment.provider + "/" + payment.payment_no.str() + "/" + payment.order_no.str() +
                             "/" + std::to_string(payment.amount_minor) + "/" + payment.currency);
    const auto taken = store_.paid().size();
    assert_problem(400, "MALFORMED", pay("19.99"));
    CPPUNIT_ASSERT_EQUAL(taken, store_.paid().size());
  }

  void a_product_is_shown_with_its_free_units() {
    // Before the sale the page shows the window; during it, whether a try is worth while.
    know_product();
    gate_.on_snapshot = [] { return std::vector<SkuSnapshot>{{Sku("p"), 7, 3, {}}}; };
    start();
    CPPUNIT_ASSERT(wait_until([&] { return context_->health().state("stock_gate").empty(); }));
    const auto answer = call({HttpMethod::Get, "/api/products/p", "", {}, {}});
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"({"productId":"p","name":"A \"lamp\"","price":1999,"currency":"EUR",)"
            R"("startsAt":"2024-02-29T12:00:00.005Z","limitPerUser":2,"payWithinMs":900000,"freeUnits":7})"),
        answer.body);
    assert_problem(404, "NOT_FOUND", call({HttpMethod::Get, "/api/products/q", "", {}, {}}));
    assert_problem(404, "NOT_FOUND", call({HttpMethod::Get, "/api/products/a b", "", {}, {}}));
  }

  void a_crowd_at_one_product_costs_one_query() {
    // Thousands reload the page just before the sale opens.
    know_product();
    start();
    for (int i = 0; i < 20; ++i) {
      CPPUNIT_ASSERT_EQUAL(200, call({HttpMethod::Get, "/api/products/p", "", {}, {}}).status);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, books_.asked_products().size());
    context_->clock().advance(Milliseconds(501));
    CPPUNIT_ASSERT_EQUAL(200, call({HttpMethod::Get, "/api/products/p", "", {}, {}}).status);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, books_.asked_products().size());
  }

  void an_order_is_followed_to_its_end() {
    // The whole way through route, lane and watcher.
    know_order();
    store_.on_moves = [](std::span<const OrderNo>, std::int64_t after) {
      std::vector<OrderMove> moves{
          {1, OrderNo("o1"), {}, OrderStatus::Processing, "user", "", {}},
          {4, OrderNo("o1"), OrderStatus::Processing, OrderStatus::Cancelled, "user", "USER", {}}};
      std::erase_if(moves, [&](const OrderMove& move) { return move.sequence <= after; });
      return moves;
    };
    start();
    const auto answer = context_->http().call(
        {HttpMethod::Get, "/api/orders/o1/events", "", {{"X-User-Id", "u"}, {"Last-Event-ID", "1"}}, {}});
    CPPUNIT_ASSERT_EQUAL(200, answer.response.status);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, answer.events.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"(4|move|{"orderNo":"o1","from":"PROCESSING","status":"CANCELLED","actor":"user",)"
                    R"("reason":"USER","at":"1970-01-01T00:00:00.000Z"})"),
        answer.events[0]);
  }

  void a_bad_last_event_id_gets_400() {
    // Resuming at a guess would lose or repeat events.
    start();
    for (const auto* bad : {"x", "-1", "1x", "", "99999999999999999999"}) {
      assert_problem(400, "MALFORMED",
                     call({HttpMethod::Get,
                           "/api/orders/o1/events",
                           "",
                           {{"X-User-Id", "u"}, {"Last-Event-ID", bad}},
                           {}}));
    }
  }

  void a_full_lane_answers_503_backlog() {
    // Memory stays flat and those inside keep their turn.
    gate_.on_reserve = [&](const ReserveRequest& request) {
      barrier_.wait();
      return ReserveAnswer{ReserveOutcome::Reserved, request.order_no, {}};
    };
    OrderApiSettings small;
    small.accept_max_queue = 1;
    start(small);
    auto working = std::async(std::launch::async, [&] { return order(kOrder); });
    CPPUNIT_ASSERT(wait_until([&] { return barrier_.waiting() == 1; }));
    auto queued = std::async(std::launch::async, [&] { return order(kOrder); });
    // Until the queue has its one request, refused ones are only those that come too late for it.
    HttpResponse refused;
    CPPUNIT_ASSERT(wait_until([&] {
      const auto sink = std::make_shared<Sink>();
      post(sink);
      if (sink->answered())
        refused = sink->response();
      else
        extra_.push_back(sink);
      return sink->answered();
    }));
    assert_problem(503, "BACKLOG", refused);
    CPPUNIT_ASSERT(!header(refused, "Retry-After").empty());
    barrier_.open();
    CPPUNIT_ASSERT_EQUAL(202, working.get().status);
    const auto late = queued.get().status;
    CPPUNIT_ASSERT(late == 202 || late == 503);
    CPPUNIT_ASSERT(context_->metrics().value("penstock_intake_shed_total{reason=\"lane_full\"}") >= 1);
  }

  void an_outbox_over_its_backlog_answers_503_until_it_drains() {
    // A broker that is away must not fill the disk; dead events are no backlog.
    pending_ = 11;
    books_.on_figures = [&] {
      StoreFigures figures;
      figures.outbox = {{"NEW", pending_.load()}, {"DEAD", 1'000}};
      return figures;
    };
    OrderApiSettings small;
    small.max_backlog = 10;
    small.store_poll = Milliseconds(2);
    start(small);
    CPPUNIT_ASSERT(wait_until([&] { return order(kOrder).status == 503; }));
    assert_problem(503, "BACKLOG", order(kOrder));
    pending_ = 10;
    CPPUNIT_ASSERT(wait_until([&] { return order(kOrder).status == 202; }));
    CPPUNIT_ASSERT(context_->logger().contains("warn intake_backlog_reached pending=11 max_backlog=10"));
  }

  void a_store_that_is_away_answers_503_and_shows_in_health() {
    // The person on call must see which dependency is missing.
    books_.on_figures = []() -> Result<StoreFigures> { return Error{ErrorCode::Unavailable, "no database"}; };
    store_.on_find = [](std::span<const OrderNo>) -> Result<std::vector<std::optional<Order>>> {
      return Error{ErrorCode::Unavailable, "no database at 10.0.0.1"};
    };
    store_.on_accept = [](const NewOrder&) -> Result<AcceptAnswer> {
      return Error{ErrorCode::Unavailable, "no database"};
    };
    start();
    CPPUNIT_ASSERT(wait_until([&] { return context_->health().state("order_store") == "no database"; }));
    const auto answer = call({HttpMethod::Get, "/api/orders/o1", "", {{"X-User-Id", "u"}}, {}});
    assert_problem(503, "DEPENDENCY_DOWN", answer);
    // Inner details are not the client's business.
    CPPUNIT_ASSERT(answer.body.find("10.0.0.1") == std::string::npos);
    CPPUNIT_ASSERT(context_->logger().contains(
        "warn intake_request_failed code=unavailable error=no database at 10.0.0.1"));
    assert_problem(503, "DEPENDENCY_DOWN", order(kOrder));
  }

  void a_gate_that_is_not_loaded_shows_in_health() {
    // Readiness follows the gate: not loaded, loaded.
    gate_.on_snapshot = [&]() -> Result<std::vector<SkuSnapshot>> {
      if (loaded_) return std::vector<SkuSnapshot>{};
      return Error{ErrorCode::NotLoaded, "not loaded"};
    };
    OrderApiSettings quick;
    quick.gate_poll = Milliseconds(2);
    start(quick);
    CPPUNIT_ASSERT(wait_until([&] { return context_->health().state("stock_gate") == "not loaded"; }));
    loaded_ = true;
    CPPUNIT_ASSERT(wait_until([&] { return context_->health().state("stock_gate").empty(); }));
  }

  void stopping_finishes_what_was_taken_and_refuses_the_rest() {
    // An order that was taken in must not lose its answer to a restart.
    store_.on_accept = [&](const NewOrder& row) {
      barrier_.wait();
      return AcceptAnswer{AcceptOutcome::Accepted, row.order_no};
    };
    start();
    auto taken = std::async(std::launch::async, [&] { return order(kOrder); });
    CPPUNIT_ASSERT(wait_until([&] { return barrier_.waiting() == 1; }));
    auto stopped = std::async(std::launch::async, [&] {
      return api_->stop(std::chrono::steady_clock::now() + std::chrono::seconds(10)).ok();
    });
    CPPUNIT_ASSERT(wait_until([&] { return order(kOrder, Milliseconds(50)).status == 503; }));
    assert_problem(503, "STOPPING", order(kOrder));
    barrier_.open();
    CPPUNIT_ASSERT_EQUAL(202, taken.get().status);
    CPPUNIT_ASSERT(stopped.get());
    assert_problem(503, "STOPPING", call({HttpMethod::Get, "/api/orders/o1", "", {{"X-User-Id", "u"}}, {}}));
  }

  void a_throwing_store_answers_500_once() {
    // A defect below must cost one answer, not the process.
    store_.on_accept = [](const NewOrder&) -> Result<AcceptAnswer> { throw std::runtime_error("defect"); };
    start();
    assert_problem(500, "INTERNAL", order(kOrder));
  }

  void instants_are_written_in_utc_with_milliseconds() {
    // Clients parse these.
    CPPUNIT_ASSERT_EQUAL(std::string("1970-01-01T00:00:00.000Z"), instant(TimePoint{}));
    CPPUNIT_ASSERT_EQUAL(std::string("2024-02-29T12:00:00.005Z"), instant(kLeapDay));
    CPPUNIT_ASSERT_EQUAL(std::string("1969-12-31T23:59:59.999Z"), instant(TimePoint(Milliseconds(-1))));
  }

 private:
  static constexpr TimePoint kLeapDay{Milliseconds(1'709'208'000'005)};
  const std::string kJson = "application/json";
  const std::string kOrder = R"({"productId":"p","quantity":1,"requestId":"r"})";

  // An answer that may never come.
  class Sink : public HttpReply::Sink {
   public:
    void send(HttpResponse response) override {
      const std::lock_guard lock(mutex_);
      response_ = std::move(response);
    }
    std::shared_ptr<HttpStream> stream() override { return nullptr; }
    bool answered() const {
      const std::lock_guard lock(mutex_);
      return response_.has_value();
    }
    HttpResponse response() const {
      const std::lock_guard lock(mutex_);
      return *response_;
    }

   private:
    mutable std::mutex mutex_;
    std::optional<HttpResponse> response_;
  };

  std::vector<std::shared_ptr<Sink>> extra_;

  class PostOrder : public HttpRequest {
   public:
    explicit PostOrder(std::string body) : body_(std::move(body)) {}
    HttpMethod method() const override { return HttpMethod::Post; }
    std::string_view path() const override { return "/api/orders"; }
    std::string_view body() const override { return body_; }
    std::optional<std::string_view> header(std::string_view name) const override {
      if (name == "X-User-Id") return "u";
      if (name == "Content-Type") return "application/json";
      return std::nullopt;
    }
    std::string_view param(std::string_view) const override { return {}; }
    std::optional<std::string> query(std::string_view) const override { return std::nullopt; }

   private:
    const std::string body_;
  };

  void post(const std::shared_ptr<Sink>& sink) {
    for (const auto& route : context_->http().routes()) {
      if (route.path == "/api/orders") route.handler(PostOrder(kOrder), HttpReply(sink));
    }
  }

  void start(OrderApiSettings settings = {}) {
    settings.openapi = "{}";
    api_ = std::make_unique<OrderApi>(
        std::move(settings), OrderApiPorts{gate_, store_, books_, context_->clock(), context_->random(),
                                           context_->metrics(), context_->health(), context_->logger()});
    api_->add_routes(context_->http());
  }

  HttpResponse call(const Call& call, Milliseconds limit = std::chrono::seconds(10)) {
    return context_->http().call(call, limit).response;
  }

  HttpResponse order(const std::string& body, Milliseconds limit = std::chrono::seconds(10)) {
    return call({HttpMethod::Post, "/api/orders", body, {{"X-User-Id", "u"}, {"Content-Type", kJson}}, {}},
                limit);
  }

  HttpResponse pay(const std::string& amount) {
    const auto body =
        R"({"provider":"bank","paymentNo":"n1","orderNo":"o1","currency":"EUR","amount":)" + amount + "}";
    return call({HttpMethod::Post, "/api/payments/callback", body, {{"Content-Type", kJson}}, {}});
  }

  void know_order() {
    store_.on_find = [](std::span<const OrderNo> numbers) {
      std::vector<std::optional<Order>> found(numbers.size());
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i].str() != "o1") continue;
        found[i] = Order{OrderNo("o1"),
                         UserId("u"),
                         RequestId("r1"),
                         OrderStatus::WaitingPay,
                         "",
                         3998,
                         "EUR",
                         {{Sku("p"), 2, 1999}},
                         kLeapDay,
                         kLeapDay + Milliseconds(1'000),
                         kLeapDay + Milliseconds(901'000)};
      }
      return found;
    };
  }

  void know_product() {
    books_.on_product = [](const Sku& sku) -> std::optional<Product> {
      if (sku.str() != "p") return std::nullopt;
      Product product{sku, "A \"lamp\"", 1999, "EUR", {}, std::chrono::minutes(15)};
      product.terms.starts_at = kLeapDay;
      product.terms.limit_per_user = 2;
      return product;
    };
  }

  static std::string text(const HttpResponse& response, std::string_view field) {
    const auto value = json::parse(response.body);
    const auto* found = value ? value->find(field) : nullptr;
    return found && found->as_string() ? *found->as_string() : std::string();
  }

  static std::string header(const HttpResponse& response, std::string_view name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return {};
  }

  static void assert_problem(int status, const std::string& code, const HttpResponse& response) {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(response.body, status, response.status);
    CPPUNIT_ASSERT_EQUAL(std::string("application/problem+json"), response.content_type);
    CPPUNIT_ASSERT_EQUAL(code, text(response, "code"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OrderApiTest);

}  // namespace
