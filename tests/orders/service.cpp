#include "service.hpp"

#include "penstock/json.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/StreamCopier.h>
#include <cppunit/TestAssert.h>

#include <signal.h>

#include <fstream>

namespace penstock::orders_test {
namespace {

using testkit::wait_until;

constexpr auto kLimit = std::chrono::seconds(60);

Answer exchange(std::uint16_t port, const Call& call) {
  Poco::Net::HTTPClientSession session("127.0.0.1", port);
  session.setTimeout(Poco::Timespan(30, 0));
  Poco::Net::HTTPRequest request(call.method, call.path, Poco::Net::HTTPMessage::HTTP_1_1);
  if (!call.user.empty()) request.set("X-User-Id", call.user);
  if (!call.body.empty()) request.setContentType("application/json");
  if (call.method == "POST") request.setContentLength(static_cast<std::streamsize>(call.body.size()));
  for (const auto& [name, value] : call.headers) request.set(name, value);
  session.sendRequest(request) << call.body << std::flush;
  Poco::Net::HTTPResponse response;
  Answer answer;
  Poco::StreamCopier::copyToString(session.receiveResponse(response), answer.body);
  answer.status = response.getStatus();
  for (const auto& [name, value] : response) answer.headers[name] = value;
  return answer;
}

std::uint16_t port_after(const std::string& text, const std::string& key) {
  const auto at = text.find(key + "=127.0.0.1:");
  if (at == std::string::npos) return 0;
  return static_cast<std::uint16_t>(std::stoi(text.substr(at + key.size() + 11)));
}

}  // namespace

std::string Answer::text(const std::string& name) const {
  const auto value = json::parse(body);
  const auto* found = value ? value->find(name) : nullptr;
  if (!found) return {};
  if (const auto* number = found->as_integer()) return std::to_string(*number);
  return found->as_string() ? *found->as_string() : std::string();
}

Service::Service(const std::string& stock) {
  std::ofstream(folder_.path() / "stock.csv") << stock;
  run({"migrate"});
  run({"stock", "load", (folder_.path() / "stock.csv").string()});
  start();
}

void Service::start() {
  process_ =
      std::make_unique<testkit::Process>(command({"serve"}), folder_.path(), std::vector<std::string>{});
  read_ports();
  const bool ready = wait_until([this] { return call_operator("/health/ready").status == 200; }, kLimit);
  CPPUNIT_ASSERT_MESSAGE(process_->err(), ready);
}

void Service::read_ports() {
  const bool serving = wait_until(
      [this] { return port_after(process_->err(), "operator") != 0 || !process_->running(); }, kLimit);
  public_port_ = port_after(process_->err(), "public");
  operator_port_ = port_after(process_->err(), "operator");
  CPPUNIT_ASSERT_MESSAGE(process_->err(), serving && public_port_ != 0);
}

void Service::stop() {
  process_->signal(SIGTERM);
  CPPUNIT_ASSERT_EQUAL_MESSAGE(process_->err(), 0, process_->wait(kLimit));
}

std::vector<std::string> Service::command(std::vector<std::string> words) const {
  std::vector<std::string> all{PENSTOCK_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  for (const auto& setting :
       {std::string("http.public.port=0"), std::string("http.operator.port=0"),
        "data.dir=" + (folder_.path() / "data").string(), std::string("metrics.refresh_ms=100"),
        std::string("order_intake.gate_poll_ms=20"), std::string("order_intake.product_keep_ms=0"),
        std::string("order_intake.events_poll_ms=20"), std::string("timeout_release.sweep_ms=200")}) {
    all.insert(all.end(), {"--set", setting});
  }
  all.insert(all.end(), {"-c", EMBEDDED_CONFIG});
  return all;
}

std::string Service::run(std::vector<std::string> words, int expected_status) const {
  const testkit::TempDir output;
  testkit::Process process(command(std::move(words)), output.path(), {});
  const int status = process.wait(kLimit);
  CPPUNIT_ASSERT_EQUAL_MESSAGE(process.out() + process.err(), expected_status, status);
  return process.out();
}

Answer Service::call(const Call& call) const {
  return exchange(public_port_, call);
}

Answer Service::call_operator(const std::string& path) const {
  return exchange(operator_port_, {.path = path, .user = {}, .body = {}});
}

Answer Service::order(const std::string& user, const std::string& request, const std::string& product,
                      int quantity) const {
  const auto body = json::Writer{}
                        .begin_object()
                        .key("requestId")
                        .string(request)
                        .key("productId")
                        .string(product)
                        .key("quantity")
                        .integer(quantity)
                        .end_object()
                        .take();
  return call({"POST", "/api/orders", user, body});
}

Answer Service::find(const std::string& user, const std::string& order_no) const {
  return call({"GET", "/api/orders/" + order_no, user, ""});
}

Answer Service::wait_for(const std::string& user, const std::string& order_no,
                         const std::string& status) const {
  Answer last;
  wait_until(
      [&] {
        last = find(user, order_no);
        return last.text("status") == status;
      },
      kLimit);
  CPPUNIT_ASSERT_EQUAL_MESSAGE(last.body, status, last.text("status"));
  return last;
}

void Service::wait_for_free(const std::string& product, int units) const {
  Answer last;
  wait_until(
      [&] {
        last = call({"GET", "/api/products/" + product, "", ""});
        return last.text("freeUnits") == std::to_string(units);
      },
      kLimit);
  CPPUNIT_ASSERT_EQUAL_MESSAGE(last.body, std::to_string(units), last.text("freeUnits"));
}

}  // namespace penstock::orders_test
