// The whole product as a process that a test kills, freezes and starts again: the real program with the
// embedded tier, on a database of the test's own and on ports that stay the same over restarts, so that
// buyers find it again.
#pragma once

#include "load/http_loop.hpp"
#include "penstock/testkit/process.hpp"

#include "penstock/testkit/temp_dir.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace penstock::fault_test {

// Long enough for a busy machine; nothing waits this long unless it is lost.
inline constexpr auto kLimit = std::chrono::seconds(60);

// One process of the product. Killed at the end of its scope.
class Server {
 public:
  // Starts and returns at once. `fail_points` as in PENSTOCK_FAILPOINTS.
  Server(const std::vector<std::string>& command, const std::string& fail_points,
         std::uint16_t operator_port);

  void wait_ready();
  void signal(int number) const { process_.signal(number); }
  // The exit status; -1 when it still runs at the limit.
  int wait_exit(std::chrono::milliseconds limit = kLimit) { return process_.wait(limit); }
  // Ends it like a service manager does, and asserts that it ended clean.
  void terminate();
  void kill();

  std::string log() const { return process_.err(); }
  // GET on the operator listener; empty when there is no answer with status 200.
  std::string ask(const std::string& path) const;
  // One value of /metrics, by its name with labels as it stands there; -1 when it is not there.
  double metric(const std::string& name_and_labels) const;
  // The sum over all labels of a metric; -1 when there is none.
  double metric_sum(const std::string& name) const;
  // Of /proc/PID/status, in kB: "VmRSS", "VmHWM".
  long memory_kb(const std::string& figure) const;

 private:
  testkit::TempDir folder_;
  testkit::Process process_;
  const std::uint16_t operator_port_;
};

// The data, the configuration and the addresses of a shop, whoever runs it.
class Shop {
 public:
  // Creates the database and loads the rows "product,quantity,pay_within_seconds".
  explicit Shop(const std::string& stock_rows);

  // A configuration key for all that is started from now on.
  void set(const std::string& key, const std::string& value);
  std::unique_ptr<Server> launch(const std::string& fail_points = {}) const;
  std::unique_ptr<Server> open() const;  // launched and ready
  // A second process on the same data, on other ports, with these plugins only.
  std::unique_ptr<Server> launch_beside(const std::string& plugins) const;

  // Runs `penstock WORDS`; the exit status is asserted. Returns what it printed.
  std::string run(const std::vector<std::string>& words, int expected_status = 0) const;
  load::Target buyers_door() const { return {"127.0.0.1", public_port_}; }
  std::filesystem::path database() const { return folder_.path() / "data" / "penstock.db"; }

 private:
  std::vector<std::string> command(const std::vector<std::string>& words, std::uint16_t public_port,
                                   std::uint16_t operator_port) const;

  testkit::TempDir folder_;
  const std::uint16_t public_port_;
  const std::uint16_t operator_port_;
  std::vector<std::string> settings_;
};

}  // namespace penstock::fault_test
