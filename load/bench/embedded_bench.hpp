// The embedded tier measured against itself in one run: what counts are the ratios, because absolute
// figures move with the machine.
#pragma once

#include "load/closed_loop.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace penstock::load {

struct EmbeddedBenchSettings {
  std::string config = "etc/embedded.properties";
  std::filesystem::path directory;  // for the servers' data; on the disk that is to be measured
  Milliseconds duration{5'000};     // of each measurement
  std::size_t connections = 500;
  std::size_t many_connections = 5'000;
  int one_at_a_time = 300;  // orders, and as many commits
};

struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
};

struct Ratio {
  std::string name;
  double value = 0;
  double target = 0;
  bool at_least = true;  // else at most
  bool met() const { return at_least ? value >= target : value <= target; }
};

struct BenchReport {
  std::vector<Figure> figures;
  std::vector<Ratio> ratios;
  bool all_met() const;
};

// Blocks for about ten times `duration`. Throws std::runtime_error when a server does not do its part.
BenchReport run_embedded_bench(const EmbeddedBenchSettings& settings);

}  // namespace penstock::load
