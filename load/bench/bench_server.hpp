// A `penstock serve` of the benchmark's own: private data, free ports, the product's plugins and the
// benchmark's trivial one.
#pragma once

#include "load/bench/child_process.hpp"
#include "load/http_loop.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace penstock::load {

struct BenchServerSettings {
  std::string config;               // etc/embedded.properties
  std::filesystem::path directory;  // made by the server, must not exist
  std::vector<std::string> set;     // "key=value", after the file's own
};

inline constexpr const char* kPlentiful = "bench-plentiful";  // a product that never runs out
inline constexpr const char* kScarce = "bench-scarce";        // a product of one unit

class BenchServer {
 public:
  // Loads the stock, starts and waits until it is ready. Throws std::runtime_error with the log's place.
  explicit BenchServer(BenchServerSettings settings);
  ~BenchServer();

  Target target() const { return {"127.0.0.1", public_port_}; }
  Usage usage() const { return usage_of(process_->pid()); }
  // A sample of /metrics by name and labels as they stand there; 0 when there is none.
  double metric(const std::string& sample) const;
  // What `penstock audit` says of them.
  bool books_balance() const;
  void stop();

 private:
  std::vector<std::string> command(std::vector<std::string> subcommand) const;
  void run_to_end(std::vector<std::string> subcommand) const;
  void link_plugins() const;
  void await_ready();

  const BenchServerSettings settings_;
  const std::filesystem::path programs_;
  std::uint16_t public_port_;
  std::uint16_t operator_port_;
  std::unique_ptr<ChildProcess> process_;
};

// One GET, waited for. Status 0 when there was no answer.
struct Fetched {
  int status = 0;
  std::string body;
};
Fetched fetch(const Target& target, const std::string& request);

}  // namespace penstock::load
