#include "load/sale.hpp"

#include "penstock/testkit/temp_dir.hpp"
#include "test_server.hpp"

#include <fstream>
#include <map>
#include <mutex>
#include <set>

namespace penstock::load {

// A shop that sells from a counter and loses some of its answers.
class FakeShop {
 public:
  explicit FakeShop(int stock) : free_(stock) {
    server.add(HttpMethod::Post, "/api/orders",
               [this](const HttpRequest& request, HttpReply reply) { order(request, std::move(reply)); });
    server.add(HttpMethod::Get, "/api/orders/{no}", [this](const HttpRequest& request, HttpReply reply) {
      reply.send(json_response(200, view(std::string(request.param("no")))));
    });
    server.add(HttpMethod::Post, "/api/orders/{no}/cancel",
               [this](const HttpRequest& request, HttpReply reply) {
                 reply.send(json_response(200, move(std::string(request.param("no")), "CANCELLED", "USER")));
               });
    server.add(HttpMethod::Post, "/api/payments/callback",
               [this](const HttpRequest& request, HttpReply reply) {
                 const std::string body(request.body());
                 const auto at = body.find("\"orderNo\":\"") + 11;
                 reply.send(json_response(200, move(body.substr(at, body.find('"', at) - at), "PAID", "")));
               });
    server.start();
  }

  ~FakeShop() { server.drain(Milliseconds(0)); }  // before what its handlers use

  int refuse_first = 0;     // as many orders are answered 503
  bool forgetful = false;   // another number for a repeated request
  bool ends_unpaid = true;  // unpaid orders time out at the third look
  TestServer server;

 private:
  struct Order {
    std::string status = "PROCESSING";
    std::string reason;
    int looks = 0;
  };

  void order(const HttpRequest& request, HttpReply reply) {
    const std::lock_guard lock(mutex_);
    if (refuse_first > 0) {
      --refuse_first;
      return reply.send(problem_retry_after(503, "BACKLOG", "", 1));
    }
    auto& number = by_body_[std::string(request.body())];
    if (number.empty() && free_ == 0) return reply.send(problem(409, "STOCK_NOT_ENOUGH", ""));
    if (number.empty()) --free_;
    if (number.empty() || forgetful) number = std::to_string(++last_);
    orders_.try_emplace(number);
    reply.send(json_response(202, R"({"orderNo":")" + number + R"(","status":"PROCESSING"})"));
  }

  std::string view(const std::string& number) {
    const std::lock_guard lock(mutex_);
    Order& order = orders_.at(number);
    ++order.looks;
    if (order.status == "WAITING_PAY" && order.looks > 3 && ends_unpaid) order = {"CANCELLED", "TIMEOUT"};
    if (order.status == "PROCESSING") order.status = "WAITING_PAY";
    return text(number, order);
  }

  std::string move(const std::string& number, const std::string& to, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    Order& order = orders_.at(number);
    if (order.status == "WAITING_PAY" || order.status == "PROCESSING") order = {to, reason};
    return text(number, order);
  }

  static std::string text(const std::string& number, const Order& order) {
    return R"({"orderNo":")" + number + R"(","status":")" + order.status + R"(","reason":")" + order.reason +
           R"(","amount":8900,"currency":"EUR"})";
  }

  std::mutex mutex_;
  int free_;
  int last_ = 0;
  std::map<std::string, std::string> by_body_;
  std::map<std::string, Order> orders_;
};

class SaleTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SaleTest);
  CPPUNIT_TEST(every_buyer_comes_to_an_end);
  CPPUNIT_TEST(an_order_is_repeated_until_it_is_answered);
  CPPUNIT_TEST(two_numbers_for_one_request_are_a_contradiction);
  CPPUNIT_TEST(what_has_not_ended_by_the_deadline_is_counted);
  CPPUNIT_TEST(the_log_has_every_answer);
  CPPUNIT_TEST(a_sale_without_a_server_stays_unanswered);
  CPPUNIT_TEST_SUITE_END();

 public:
  void every_buyer_comes_to_an_end() {
    // The table of the demonstration must add up.
    FakeShop shop(30);
    Sale sale(settings(shop.server.target()));
    const auto& result = sale.run([](auto&) {});
    CPPUNIT_ASSERT(result.complete());
    CPPUNIT_ASSERT_EQUAL(std::size_t{100}, result.asked);
    CPPUNIT_ASSERT_EQUAL(std::size_t{30}, result.accepted);
    CPPUNIT_ASSERT_EQUAL(std::size_t{70}, result.refused.at("STOCK_NOT_ENOUGH"));
    std::size_t ended = 0;
    for (const auto& [state, count] : result.states) ended += count;
    CPPUNIT_ASSERT_EQUAL(std::size_t{30}, ended);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, result.states.size());  // paid, cancelled by the user, timed out
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{30}, result.accept.count());
  }

  void an_order_is_repeated_until_it_is_answered() {
    // A buyer who is told "later" comes back with the same request, not with a new one.
    FakeShop shop(100);
    shop.refuse_first = 50;
    Sale sale(settings(shop.server.target()));
    const auto& result = sale.run([](auto&) {});
    CPPUNIT_ASSERT(result.complete());
    CPPUNIT_ASSERT_EQUAL(std::size_t{100}, result.accepted);
    CPPUNIT_ASSERT_EQUAL(std::size_t{50}, result.repeats);
    std::set<std::string> numbers;
    for (const auto& answer : sale.answers()) {
      if (answer.status == 202) numbers.insert(answer.order_no);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{100}, numbers.size());
  }

  void two_numbers_for_one_request_are_a_contradiction() {
    // This is how an order that was taken twice shows itself.
    FakeShop shop(1'000);
    shop.forgetful = true;
    auto with = settings(shop.server.target());
    with.twice_percent = 100;
    Sale sale(with);
    CPPUNIT_ASSERT(!sale.run([](auto&) {}).contradictions.empty());
  }

  void what_has_not_ended_by_the_deadline_is_counted() {
    // Waiting for ever would hide an order that is stuck.
    FakeShop shop(10);
    shop.ends_unpaid = false;
    auto with = settings(shop.server.target());
    with.pay_percent = with.cancel_percent = 0;
    with.deadline = Milliseconds(500);
    Sale sale(with);
    const auto& result = sale.run([](auto&) {});
    CPPUNIT_ASSERT(!result.complete());
    CPPUNIT_ASSERT_EQUAL(std::size_t{10}, result.unfinished);
  }

  void the_log_has_every_answer() {
    // After a fault the books are compared with exactly this file.
    testkit::TempDir directory;
    FakeShop shop(20);
    auto with = settings(shop.server.target());
    with.answers_path = directory.path() / "answers.jsonl";
    Sale sale(with);
    sale.run([](auto&) {});
    std::ifstream file(with.answers_path);
    std::size_t lines = 0, finals = 0;
    for (std::string line; std::getline(file, line); ++lines)
      finals += line.find("\"action\":\"final\"") != std::string::npos;
    CPPUNIT_ASSERT_EQUAL(sale.answers().size(), lines);
    CPPUNIT_ASSERT_EQUAL(std::size_t{20}, finals);
  }

  void a_sale_without_a_server_stays_unanswered() {
    // Refused connections are repeated, not counted as refusals of the shop.
    Target nobody;
    {
      TestServer gone;
      gone.start();
      nobody = gone.target();
    }
    auto with = settings(nobody);
    with.deadline = Milliseconds(400);
    Sale sale(with);
    const auto& result = sale.run([](auto&) {});
    CPPUNIT_ASSERT_EQUAL(std::size_t{100}, result.unanswered);
    CPPUNIT_ASSERT(result.refused.empty() && result.repeats > 100);
  }

 private:
  static SaleSettings settings(const Target& target) {
    SaleSettings settings;
    settings.target = target;
    settings.product = "p";
    settings.buyers = 100;
    settings.connections = 20;
    settings.arrival = Milliseconds(100);
    settings.first_back_off = settings.poll = Milliseconds(5);
    settings.seed = 7;
    return settings;
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(SaleTest);

}  // namespace penstock::load
