// One order from its first request to its end, over HTTP and through every stage.
#include "service.hpp"

#include "penstock/testkit/wait_until.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <future>
#include <set>
#include <sstream>

namespace penstock::orders_test {
namespace {

const std::string kStock =
    "product,name,quantity,price_minor,currency,limit_per_user,starts_at,ends_at,pay_within_seconds\n"
    "slow,Pays within ten minutes,5,1999,EUR,,,,600\n"
    "quick,Pays within a second,5,1999,EUR,,,,1\n"
    "last,The last one,1,1999,EUR,,,,600\n"
    "crowd,Ten for a crowd in threes,10,1999,EUR,,,,600\n"
    "limited,One each,5,1999,EUR,1,,,600\n"
    "future,Not yet on sale,5,1999,EUR,,2099-01-01T00:00:00Z,,600\n"
    "past,No longer on sale,5,1999,EUR,,,2001-01-01T00:00:00Z,600\n"
    "9007199254740993,A number beyond a double,5,1999,EUR,,,,600\n";

// The event ids of a stream and its statuses, in order.
struct Events {
  std::vector<std::string> ids;
  std::vector<std::string> statuses;
};

Events read_events(const std::string& text) {
  Events events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("id: ")) events.ids.push_back(line.substr(4));
    if (line.starts_with("data: ")) events.statuses.push_back(Answer{200, {}, line.substr(6)}.text("status"));
  }
  return events;
}

std::string payment(const std::string& order_no, const std::string& payment_no, int amount) {
  return R"({"provider":"bank","paymentNo":")" + payment_no + R"(","orderNo":")" + order_no +
         R"(","amount":)" + std::to_string(amount) + R"(,"currency":"EUR"})";
}

// All calls at once; their answers in order.
std::vector<Answer> at_once(std::size_t count, const std::function<Answer(std::size_t)>& call) {
  std::vector<std::future<Answer>> running;
  for (std::size_t i = 0; i < count; ++i) running.push_back(std::async(std::launch::async, call, i));
  std::vector<Answer> answers;
  for (auto& answer : running) answers.push_back(answer.get());
  return answers;
}

std::ptrdiff_t count(const std::vector<Answer>& answers, int status) {
  return std::count_if(answers.begin(), answers.end(),
                       [&](const Answer& answer) { return answer.status == status; });
}

class OrderFlowTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OrderFlowTest);
  CPPUNIT_TEST(an_unpaid_order_is_cancelled_and_its_unit_comes_back);
  CPPUNIT_TEST(a_repeat_answers_the_same_order_and_another_wish_is_refused);
  CPPUNIT_TEST(thirty_same_requests_at_once_are_one_order);
  CPPUNIT_TEST(two_users_with_one_request_id_have_two_orders);
  CPPUNIT_TEST(an_order_is_paid_once);
  CPPUNIT_TEST(a_payment_after_the_end_is_to_be_refunded);
  CPPUNIT_TEST(a_cancelled_order_gives_its_unit_to_the_next_buyer);
  CPPUNIT_TEST(events_resume_where_the_client_was);
  CPPUNIT_TEST(stopping_ends_open_streams_and_loses_nothing);
  CPPUNIT_TEST(two_hundred_buyers_of_one_unit_make_one_order);
  CPPUNIT_TEST(a_hundred_buyers_of_three_out_of_ten_make_three_orders);
  CPPUNIT_TEST(a_buyer_over_the_limit_may_try_again_after_a_cancellation);
  CPPUNIT_TEST(outside_the_window_nothing_is_sold);
  CPPUNIT_TEST(a_product_without_stock_figures_is_not_sold_out);
  CPPUNIT_TEST(bad_input_changes_nothing);
  CPPUNIT_TEST(a_product_number_survives_digit_for_digit);
  CPPUNIT_TEST(orders_survive_a_restart_and_repeats_still_find_them);
  CPPUNIT_TEST_SUITE_END();

  std::unique_ptr<Service> service_;

 public:
  void setUp() override { service_ = std::make_unique<Service>(kStock); }
  // Whatever happened, the books must balance afterwards and the process must end clean.
  void tearDown() override {
    if (!service_) return;
    const auto service = std::move(service_);
    service->stop();
    const auto report = service->run({"audit"});
    CPPUNIT_ASSERT_MESSAGE(report, report.find("books balanced") != std::string::npos);
  }

  void an_unpaid_order_is_cancelled_and_its_unit_comes_back() {
    // The whole promise about somebody who walks away: one final state, no unit lost.
    const auto accepted = service_->order("u", "r", "quick", 2);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(accepted.body, 202, accepted.status);
    const auto number = accepted.text("orderNo");
    CPPUNIT_ASSERT_EQUAL("/api/orders/" + number, accepted.headers.at("Location"));
    // The stream ends by itself, with the last move.
    const auto stream = service_->call({"GET", "/api/orders/" + number + "/events", "u", ""});
    CPPUNIT_ASSERT_EQUAL(std::string("text/event-stream"), stream.headers.at("Content-Type"));
    const auto events = read_events(stream.body);
    CPPUNIT_ASSERT(events.statuses == std::vector<std::string>({"PROCESSING", "WAITING_PAY", "CANCELLED"}));
    const auto ended = service_->wait_for("u", number, "CANCELLED");
    CPPUNIT_ASSERT_EQUAL(std::string("TIMEOUT"), ended.text("reason"));
    CPPUNIT_ASSERT_EQUAL(std::string("3998"), ended.text("amount"));
    service_->wait_for_free("quick", 5);
    // The repeat of a request whose order has ended is still that order.
    CPPUNIT_ASSERT_EQUAL(number, service_->order("u", "r", "quick", 2).text("orderNo"));
    service_->wait_for_free("quick", 5);
  }

  void a_repeat_answers_the_same_order_and_another_wish_is_refused() {
    // The request id is the buyer's protection against the network.
    const auto number = service_->order("u", "r", "slow", 2).text("orderNo");
    const auto repeat = service_->order("u", "r", "slow", 2);
    CPPUNIT_ASSERT_EQUAL(202, repeat.status);
    CPPUNIT_ASSERT_EQUAL(number, repeat.text("orderNo"));
    const auto spelled =
        service_->call({"POST", "/api/orders", "u",
                        R"({"items":[{"quantity":1,"productId":"slow"},{"productId":"slow","quantity":1}],)"
                        R"("requestId":"r"})"});
    CPPUNIT_ASSERT_EQUAL(number, spelled.text("orderNo"));
    for (const auto& [product, quantity] : {std::pair{"slow", 1}, {"quick", 2}}) {
      const auto other = service_->order("u", "r", product, quantity);
      CPPUNIT_ASSERT_EQUAL(422, other.status);
      CPPUNIT_ASSERT_EQUAL(std::string("KEY_REUSED"), other.text("code"));
    }
    service_->wait_for_free("slow", 3);
    service_->wait_for_free("quick", 5);
  }

  void thirty_same_requests_at_once_are_one_order() {
    // A nervous finger buys once, whatever the timing.
    const auto answers = at_once(30, [&](std::size_t) { return service_->order("u", "r", "slow"); });
    std::set<std::string> numbers;
    for (const auto& answer : answers) numbers.insert(answer.text("orderNo"));
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{30}, count(answers, 202));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, numbers.size());
    service_->wait_for_free("slow", 4);
  }

  void two_users_with_one_request_id_have_two_orders() {
    // Request ids are the user's own; neither may see the other's order.
    const auto a = service_->order("a", "r", "slow").text("orderNo");
    const auto b = service_->order("b", "r", "slow").text("orderNo");
    CPPUNIT_ASSERT(a != b);
    CPPUNIT_ASSERT_EQUAL(200, service_->find("a", a).status);
    CPPUNIT_ASSERT_EQUAL(404, service_->find("b", a).status);
    CPPUNIT_ASSERT_EQUAL(404, service_->call({"POST", "/api/orders/" + a + "/cancel", "b", ""}).status);
    CPPUNIT_ASSERT_EQUAL(404, service_->call({"GET", "/api/orders/" + a + "/events", "b", ""}).status);
  }

  void an_order_is_paid_once() {
    // Money: right amount, one effect, and no way back by cancelling.
    const auto number = service_->order("u", "r", "slow").text("orderNo");
    service_->wait_for("u", number, "WAITING_PAY");
    const auto wrong = pay(number, "n0", 1);
    CPPUNIT_ASSERT_EQUAL(409, wrong.status);
    CPPUNIT_ASSERT_EQUAL(std::string("WRONG_AMOUNT"), wrong.text("code"));
    CPPUNIT_ASSERT_EQUAL(std::string("PAID"), pay(number, "n1", 1999).text("outcome"));
    CPPUNIT_ASSERT_EQUAL(std::string("REPEATED"), pay(number, "n1", 1999).text("outcome"));
    CPPUNIT_ASSERT_EQUAL(std::string("KEY_REUSED"), pay(number, "n1", 1998).text("code"));
    CPPUNIT_ASSERT_EQUAL(std::string("REFUND_REQUIRED"), pay(number, "n2", 1999).text("outcome"));
    CPPUNIT_ASSERT_EQUAL(404, pay("unknown", "n3", 1999).status);
    service_->wait_for("u", number, "PAID");
    const auto cancel = service_->call({"POST", "/api/orders/" + number + "/cancel", "u", ""});
    CPPUNIT_ASSERT_EQUAL(409, cancel.status);
    CPPUNIT_ASSERT_EQUAL(std::string("ORDER_NOT_CANCELLABLE"), cancel.text("code"));
    service_->wait_for_free("slow", 4);
  }

  void a_payment_after_the_end_is_to_be_refunded() {
    // The provider is told that the money was noted, not that the goods are sold.
    const auto number = service_->order("u", "r", "quick").text("orderNo");
    service_->wait_for("u", number, "CANCELLED");
    const auto late = pay(number, "n1", 1999);
    CPPUNIT_ASSERT_EQUAL(200, late.status);
    CPPUNIT_ASSERT_EQUAL(std::string("REFUND_REQUIRED"), late.text("outcome"));
    CPPUNIT_ASSERT_EQUAL(std::string("CANCELLED"), late.text("status"));
    service_->wait_for_free("quick", 5);
  }

  void a_cancelled_order_gives_its_unit_to_the_next_buyer() {
    // Sold out is not for ever: the next one in line gets the unit, without a restart.
    const auto number = service_->order("a", "r", "last").text("orderNo");
    const auto late = service_->order("b", "r", "last");
    CPPUNIT_ASSERT_EQUAL(409, late.status);
    CPPUNIT_ASSERT_EQUAL(std::string("STOCK_NOT_ENOUGH"), late.text("code"));
    // Free units are shown a moment late: without this, "1" could still be from before the order.
    service_->wait_for_free("last", 0);
    for (int i = 0; i < 2; ++i) {
      const auto cancel = service_->call({"POST", "/api/orders/" + number + "/cancel", "a", ""});
      CPPUNIT_ASSERT_EQUAL_MESSAGE(cancel.body, 200, cancel.status);
      CPPUNIT_ASSERT_EQUAL(std::string("CANCELLED"), cancel.text("status"));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("USER"), service_->find("a", number).text("reason"));
    service_->wait_for_free("last", 1);
    CPPUNIT_ASSERT_EQUAL(202, service_->order("b", "r", "last").status);
  }

  void events_resume_where_the_client_was() {
    // A phone loses its connection all the time: nothing twice, nothing lost.
    const auto number = service_->order("u", "r", "quick").text("orderNo");
    const auto path = "/api/orders/" + number + "/events";
    const auto all = read_events(service_->call({"GET", path, "u", ""}).body);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, all.ids.size());
    const auto rest =
        read_events(service_->call({"GET", path, "u", "", {{"Last-Event-ID", all.ids[0]}}}).body);
    CPPUNIT_ASSERT(rest.ids == std::vector<std::string>(all.ids.begin() + 1, all.ids.end()));
    CPPUNIT_ASSERT_EQUAL(204, service_->call({"GET", path, "u", "", {{"Last-Event-ID", all.ids[2]}}}).status);
  }

  void stopping_ends_open_streams_and_loses_nothing() {
    // A watching browser must not hold up a restart; it comes back with its Last-Event-ID.
    const auto number = service_->order("u", "r", "slow").text("orderNo");
    service_->wait_for("u", number, "WAITING_PAY");
    const auto path = "/api/orders/" + number + "/events";
    auto watching = std::async(std::launch::async, [&] { return service_->call({"GET", path, "u", ""}); });
    CPPUNIT_ASSERT(testkit::wait_until([&] {
      return service_->call_operator("/metrics").body.find("penstock_watched_orders 1") != std::string::npos;
    }));
    service_->stop();
    const auto seen = read_events(watching.get().body);
    CPPUNIT_ASSERT(seen.statuses == std::vector<std::string>({"PROCESSING", "WAITING_PAY"}));
    service_->start();
    CPPUNIT_ASSERT_EQUAL(200, service_->call({"POST", "/api/orders/" + number + "/cancel", "u", ""}).status);
    const auto rest =
        read_events(service_->call({"GET", path, "u", "", {{"Last-Event-ID", seen.ids[1]}}}).body);
    CPPUNIT_ASSERT(rest.statuses == std::vector<std::string>({"CANCELLED"}));
  }

  void two_hundred_buyers_of_one_unit_make_one_order() {
    // The product's reason to exist.
    const auto answers =
        at_once(200, [&](std::size_t i) { return service_->order("u" + std::to_string(i), "r", "last"); });
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{1}, count(answers, 202));
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{199}, count(answers, 409));
    service_->wait_for_free("last", 0);
    // The dashboards count what the clients heard, once.
    const auto metrics = service_->call_operator("/metrics").body;
    for (const std::string line : {"{outcome=\"reserved\"} 1\n", "{outcome=\"out_of_stock\"} 199\n"}) {
      CPPUNIT_ASSERT_MESSAGE(line, metrics.find("penstock_reservations_total" + line) != std::string::npos);
    }
  }

  void a_hundred_buyers_of_three_out_of_ten_make_three_orders() {
    // The rest that fits nobody stays, and nothing goes below zero.
    const auto answers = at_once(
        100, [&](std::size_t i) { return service_->order("u" + std::to_string(i), "r", "crowd", 3); });
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{3}, count(answers, 202));
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{97}, count(answers, 409));
    service_->wait_for_free("crowd", 1);
  }

  void a_buyer_over_the_limit_may_try_again_after_a_cancellation() {
    // One each, also for two requests in the same moment; what was given back counts no more.
    const auto answers =
        at_once(2, [&](std::size_t i) { return service_->order("u", "r" + std::to_string(i), "limited"); });
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{1}, count(answers, 202));
    const auto refused = answers[0].status == 202 ? answers[1] : answers[0];
    CPPUNIT_ASSERT_EQUAL(std::string("LIMIT_EXCEEDED"), refused.text("code"));
    const auto number = (answers[0].status == 202 ? answers[0] : answers[1]).text("orderNo");
    service_->wait_for_free("limited", 4);
    CPPUNIT_ASSERT_EQUAL(200, service_->call({"POST", "/api/orders/" + number + "/cancel", "u", ""}).status);
    service_->wait_for_free("limited", 5);
    CPPUNIT_ASSERT_EQUAL(202, service_->order("u", "again", "limited").status);
    CPPUNIT_ASSERT_EQUAL(std::string("LIMIT_EXCEEDED"), service_->order("u", "more", "limited").text("code"));
  }

  void outside_the_window_nothing_is_sold() {
    // Too early and too late are different answers: one of them is worth waiting for.
    const auto early = service_->order("u", "r1", "future");
    CPPUNIT_ASSERT_EQUAL(409, early.status);
    CPPUNIT_ASSERT_EQUAL(std::string("NOT_STARTED"), early.text("code"));
    CPPUNIT_ASSERT_EQUAL(std::string("ENDED"), service_->order("u", "r2", "past").text("code"));
    service_->wait_for_free("future", 5);
    service_->wait_for_free("past", 5);
  }

  void a_product_without_stock_figures_is_not_sold_out() {
    // "Not loaded" may be over in a second; "sold out" sends the buyer away.
    const auto answer = service_->order("u", "r", "unheard-of");
    CPPUNIT_ASSERT_EQUAL(503, answer.status);
    CPPUNIT_ASSERT_EQUAL(std::string("NOT_LOADED"), answer.text("code"));
    CPPUNIT_ASSERT(answer.headers.contains("Retry-After"));
    CPPUNIT_ASSERT_EQUAL(404, service_->call({"GET", "/api/products/unheard-of", "", ""}).status);
  }

  void bad_input_changes_nothing() {
    // Whatever comes in, the process lives, says where it is wrong, and holds nothing.
    for (const auto* quantity : {"-5", "0", "1.5", "\"1e3\"", "1e3", "\"0x10\"", "true", "null", "[]",
                                 "2147483648", "9007199254740993", "9223372036854775808"}) {
      const auto answer = service_->call({"POST", "/api/orders", "u",
                                          R"({"requestId":"r","items":[{"productId":"slow","quantity":1},)"
                                          R"({"productId":"quick","quantity":)" +
                                              std::string(quantity) + "}]}"});
      CPPUNIT_ASSERT_EQUAL_MESSAGE(quantity, 400, answer.status);
      CPPUNIT_ASSERT_EQUAL(std::string("application/problem+json"), answer.headers.at("Content-Type"));
      CPPUNIT_ASSERT_MESSAGE(answer.body, answer.text("detail").starts_with("items[1].quantity: found "));
    }
    for (const auto& body :
         {std::string("{"), std::string("[]"), std::string("\xff\xfe"), std::string(100, '['),
          std::string(R"({"requestId":"r","requestId":"r","productId":"slow","quantity":1})"),
          std::string(R"({"requestId\u0000":"r","productId":"slow","quantity":1})"),
          std::string(R"({"requestId":"r","productId":"slow","quantity":1,"price":1})")}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(body, 400, service_->call({"POST", "/api/orders", "u", body}).status);
    }
    const auto large =
        R"({"requestId":")" + std::string(100'000, 'x') + R"(","productId":"slow","quantity":1})";
    CPPUNIT_ASSERT_EQUAL(413, service_->call({"POST", "/api/orders", "u", large}).status);
    CPPUNIT_ASSERT_EQUAL(401, service_->order("", "r", "slow").status);
    CPPUNIT_ASSERT_EQUAL(401, service_->order("=?utf-8?Q?a=0D=0Ab?=", "r", "slow").status);
    service_->wait_for_free("slow", 5);
    service_->wait_for_free("quick", 5);
    CPPUNIT_ASSERT_EQUAL(202, service_->order("u", "r", "slow").status);
  }

  void a_product_number_survives_digit_for_digit() {
    // Through JSON, the gate, the database and back.
    const auto accepted = service_->call(
        {"POST", "/api/orders", "u", R"({"requestId":"r","productId":9007199254740993,"quantity":1})"});
    CPPUNIT_ASSERT_EQUAL_MESSAGE(accepted.body, 202, accepted.status);
    const auto order = service_->find("u", accepted.text("orderNo"));
    CPPUNIT_ASSERT_MESSAGE(order.body,
                           order.body.find(R"("productId":"9007199254740993")") != std::string::npos);
    service_->wait_for_free("9007199254740993", 4);
  }

  void orders_survive_a_restart_and_repeats_still_find_them() {
    // The gate lives in memory; the promise does not.
    const auto held = service_->order("u", "r1", "slow").text("orderNo");
    const auto paid = service_->order("u", "r2", "slow").text("orderNo");
    service_->wait_for("u", paid, "WAITING_PAY");
    CPPUNIT_ASSERT_EQUAL(200, pay(paid, "n1", 1999).status);
    service_->stop();
    service_->start();
    service_->wait_for_free("slow", 3);
    CPPUNIT_ASSERT_EQUAL(held, service_->order("u", "r1", "slow").text("orderNo"));
    CPPUNIT_ASSERT_EQUAL(paid, service_->order("u", "r2", "slow").text("orderNo"));
    CPPUNIT_ASSERT_EQUAL(422, service_->order("u", "r2", "slow", 2).status);
    service_->wait_for_free("slow", 3);
  }

 private:
  Answer pay(const std::string& order_no, const std::string& payment_no, int amount) const {
    return service_->call({"POST", "/api/payments/callback", "", payment(order_no, payment_no, amount)});
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OrderFlowTest);

}  // namespace
}  // namespace penstock::orders_test
