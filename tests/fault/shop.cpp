#include "shop.hpp"

#include "penstock/testkit/wait_until.hpp"

#include <Poco/Exception.h>
#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/StreamCopier.h>
#include <cppunit/TestAssert.h>

#include <signal.h>

#include <fstream>
#include <sstream>

namespace penstock::fault_test {
namespace {

using testkit::wait_until;

std::uint16_t free_port() {
  const Poco::Net::ServerSocket socket(Poco::Net::SocketAddress("127.0.0.1", 0));
  return socket.address().port();
}

// Leases, waits and polls that fit a test of seconds; everything else as shipped.
std::vector<std::string> quick_settings() {
  return {"outbox_publisher.lease_ms=2000",     "outbox_publisher.publish_timeout_ms=1000",
          "outbox_publisher.poll_ms=100",       "order_consumer.lease_ms=2000",
          "order_consumer.max_retry_ms=1000",   "timeout_release.lease_ms=2000",
          "timeout_release.max_retry_ms=1000",  "timeout_release.sweep_ms=1000",
          "reconciler.interval_ms=200",         "reconciler.grace_ms=1000",
          "reconciler.review_ms=1000",          "reconciler.settle_ms=200",
          "transport_sql.poll_interval_ms=100", "metrics.refresh_ms=100"};
}

}  // namespace

Server::Server(const std::vector<std::string>& command, const std::string& fail_points,
               std::uint16_t operator_port)
    : process_(command, folder_.path(), {"PENSTOCK_FAILPOINTS=" + fail_points}),
      operator_port_(operator_port) {}

void Server::wait_ready() {
  const bool ready =
      wait_until([this] { return !ask("/health/ready").empty() || !process_.running(); }, kLimit) &&
      process_.running();
  CPPUNIT_ASSERT_MESSAGE("never ready: " + ask("/health/ready") + log(), ready);
}

void Server::terminate() {
  signal(SIGTERM);
  CPPUNIT_ASSERT_EQUAL_MESSAGE(log(), 0, wait_exit());
}

void Server::kill() {
  signal(SIGKILL);
  CPPUNIT_ASSERT_EQUAL(128 + SIGKILL, wait_exit());
}

std::string Server::ask(const std::string& path) const {
  try {
    Poco::Net::HTTPClientSession session("127.0.0.1", operator_port_);
    session.setTimeout(Poco::Timespan(5, 0));
    Poco::Net::HTTPRequest request(Poco::Net::HTTPRequest::HTTP_GET, path, Poco::Net::HTTPMessage::HTTP_1_1);
    session.sendRequest(request);
    Poco::Net::HTTPResponse response;
    std::string body;
    Poco::StreamCopier::copyToString(session.receiveResponse(response), body);
    return response.getStatus() == Poco::Net::HTTPResponse::HTTP_OK ? body : std::string();
  } catch (const Poco::Exception&) {
    return {};  // not up, or on its way down
  }
}

double Server::metric(const std::string& name_and_labels) const {
  std::istringstream lines(ask("/metrics"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name_and_labels + " ")) return std::stod(line.substr(name_and_labels.size() + 1));
  }
  return -1;
}

double Server::metric_sum(const std::string& name) const {
  std::istringstream lines(ask("/metrics"));
  double sum = 0;
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + "{") && !line.starts_with(name + " ")) continue;
    sum += std::stod(line.substr(line.rfind(' ') + 1));
    found = true;
  }
  return found ? sum : -1;
}

long Server::memory_kb(const std::string& figure) const {
  std::ifstream status("/proc/" + std::to_string(process_.pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(figure + ":")) return std::stol(line.substr(figure.size() + 1));
  }
  return -1;
}

Shop::Shop(const std::string& stock_rows)
    : public_port_(free_port()), operator_port_(free_port()), settings_(quick_settings()) {
  const auto file = folder_.path() / "stock.csv";
  std::ofstream out(file);
  out << "product,name,quantity,price_minor,currency,pay_within_seconds\n";
  std::istringstream rows(stock_rows);
  for (std::string row; std::getline(rows, row);) {
    const auto product = row.substr(0, row.find(','));
    const auto quantity = row.substr(product.size() + 1, row.rfind(',') - product.size() - 1);
    out << product << ",Thing," << quantity << ",1999,EUR," << row.substr(row.rfind(',') + 1) << '\n';
  }
  out.close();
  run({"migrate"});
  run({"stock", "load", file.string()});
}

void Shop::set(const std::string& key, const std::string& value) {
  settings_.push_back(key + "=" + value);
}

std::unique_ptr<Server> Shop::launch(const std::string& fail_points) const {
  return std::make_unique<Server>(command({"serve"}, public_port_, operator_port_), fail_points,
                                  operator_port_);
}

std::unique_ptr<Server> Shop::open() const {
  auto server = launch();
  server->wait_ready();
  return server;
}

std::unique_ptr<Server> Shop::launch_beside(const std::string& plugins) const {
  const auto operator_port = free_port();
  auto words = command({"serve"}, free_port(), operator_port);
  words.insert(words.end(), {"--set", "plugins=" + plugins});
  return std::make_unique<Server>(words, "", operator_port);
}

std::string Shop::run(const std::vector<std::string>& words, int expected_status) const {
  const testkit::TempDir output;
  testkit::Process process(command(words, public_port_, operator_port_), output.path(),
                           {"PENSTOCK_FAILPOINTS="});
  const int status = process.wait(kLimit);
  CPPUNIT_ASSERT_EQUAL_MESSAGE(process.out() + process.err(), expected_status, status);
  return process.out();
}

std::vector<std::string> Shop::command(const std::vector<std::string>& words, std::uint16_t public_port,
                                       std::uint16_t operator_port) const {
  std::vector<std::string> all{PENSTOCK_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), {"-c", EMBEDDED_CONFIG});
  auto settings = settings_;
  settings.push_back("data.dir=" + (folder_.path() / "data").string());
  settings.push_back("http.public.port=" + std::to_string(public_port));
  settings.push_back("http.operator.port=" + std::to_string(operator_port));
  for (const auto& setting : settings) all.insert(all.end(), {"--set", setting});
  return all;
}

}  // namespace penstock::fault_test
