// The whole product in its own process: the real program with every plugin of the embedded tier, on
// a database and ports of the test's own, spoken to over HTTP.
#pragma once

#include "penstock/testkit/process.hpp"

#include "penstock/testkit/temp_dir.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace penstock::orders_test {

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;

  // A member of the JSON body: a string, or a number's digits; empty when there is none.
  std::string text(const std::string& name) const;
};

struct Call {
  std::string method = "GET";
  std::string path;
  std::string user;  // X-User-Id, when not empty
  std::string body;  // sent as JSON, when not empty
  std::map<std::string, std::string> headers = {};
};

class Service {
 public:
  // `stock` is the text of a stock file, loaded before the start.
  explicit Service(const std::string& stock);

  // A call on a connection of its own. An answer that is a stream is read to its end.
  Answer call(const Call& call) const;
  Answer call_operator(const std::string& path) const;
  Answer order(const std::string& user, const std::string& request, const std::string& product,
               int quantity = 1) const;
  Answer find(const std::string& user, const std::string& order_no) const;
  // Waits until the order has this status; the failure shows what it has instead.
  Answer wait_for(const std::string& user, const std::string& order_no, const std::string& status) const;
  // Waits until the gate has this many units free.
  void wait_for_free(const std::string& product, int units) const;

  // Ends the process like a service manager does, and asserts that it ended clean.
  void stop();
  // Starts it again on the same data.
  void start();
  // Runs `penstock WORDS -c ...` to its end; the exit status is asserted. Returns its output.
  std::string run(std::vector<std::string> words, int expected_status = 0) const;

 private:
  std::vector<std::string> command(std::vector<std::string> words) const;
  void read_ports();

  testkit::TempDir folder_;
  std::unique_ptr<testkit::Process> process_;
  std::uint16_t public_port_ = 0;
  std::uint16_t operator_port_ = 0;
};

}  // namespace penstock::orders_test
