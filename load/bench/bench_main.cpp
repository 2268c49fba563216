// penstock-bench: starts the real server with different strategies and prints how they compare.
#include "load/arguments.hpp"
#include "load/bench/embedded_bench.hpp"

#include "penstock/json.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>

namespace penstock::load {
namespace {

constexpr int kTargetMissed = 1;
constexpr int kFailed = 2;

struct Options {
  EmbeddedBenchSettings bench;
  bool json = false;
  bool check = false;
  bool keep = false;
};

bool read_options(int argc, char** argv, Options& options) {
  std::string directory = "run";
  std::int64_t seconds = 5, connections = 500, many = 5'000, singly = 300;
  Arguments arguments(
      "penstock-bench embedded",
      "Starts `penstock serve` with the embedded tier, compares strategies in one run and prints the\n"
      "ratios. Takes about a minute and a half with the defaults. Exit status: 0, or 1 with --check when\n"
      "a ratio misses its target, 2 when a server did not do its part.");
  arguments.text("config", options.bench.config, "Configuration of the server.");
  arguments.text("directory", directory,
                 "Where a private data directory is made; its disk is what is measured.");
  arguments.number("seconds", seconds, 1, 600, "Length of each measurement, in seconds.");
  arguments.number("connections", connections, 1, 20'000, "Connections that send orders.");
  arguments.number("many-connections", many, 1, 20'000, "Connections of the crowd.");
  arguments.number("one-at-a-time", singly, 20, 100'000, "Orders of the only buyer.");
  arguments.toggle("json", options.json, "Prints the result as one JSON object.");
  arguments.toggle("check", options.check, "Exit status 1 when a ratio misses its target.");
  arguments.toggle("keep", options.keep, "Leaves the servers' data and logs in place.");
  if (!arguments.parse(argc, argv)) return false;
  options.bench.duration = std::chrono::seconds(seconds);
  options.bench.connections = static_cast<std::size_t>(connections);
  options.bench.many_connections = static_cast<std::size_t>(many);
  options.bench.one_at_a_time = static_cast<int>(singly);
  options.bench.directory = std::filesystem::path(directory) / ("bench-" + std::to_string(::getpid()));
  return true;
}

void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void print_table(const BenchReport& report) {
  std::printf("%u CPUs, shared by server and load tool\n\n", std::thread::hardware_concurrency());
  for (const auto& figure : report.figures) {
    std::printf("%-62s %12.2f %s\n", figure.name.c_str(), figure.value, figure.unit.c_str());
  }
  std::printf("\n%-74s %9s %12s\n", "ratio or limit", "measured", "target");
  for (const auto& ratio : report.ratios) {
    std::printf("%-74s %9.2f  %s %8.2f  %s\n", ratio.name.c_str(), ratio.value,
                ratio.at_least ? ">=" : "<=", ratio.target, ratio.met() ? "met" : "MISSED");
  }
}

void print_json(const BenchReport& report) {
  json::Writer out;
  out.begin_object().key("cpus").integer(std::thread::hardware_concurrency());
  out.key("figures").begin_array();
  for (const auto& figure : report.figures) {
    out.begin_object().key("name").string(figure.name).key("value").number(figure.value);
    out.key("unit").string(figure.unit).end_object();
  }
  out.end_array().key("ratios").begin_array();
  for (const auto& ratio : report.ratios) {
    out.begin_object().key("name").string(ratio.name).key("value").number(ratio.value);
    out.key(ratio.at_least ? "atLeast" : "atMost")
        .number(ratio.target)
        .key("met")
        .boolean(ratio.met())
        .end_object();
  }
  out.end_array().end_object();
  std::printf("%s\n", out.take().c_str());
}

int run(int argc, char** argv) {
  Options options;
  if (!read_options(argc, argv, options)) return 0;
  allow_many_descriptors();
  const BenchReport report = run_embedded_bench(options.bench);
  if (!options.keep) std::filesystem::remove_all(options.bench.directory);
  if (options.json)
    print_json(report);
  else
    print_table(report);
  return options.check && !report.all_met() ? kTargetMissed : 0;
}

}  // namespace
}  // namespace penstock::load

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  if (which != "embedded") {
    std::fputs("usage: penstock-bench embedded [OPTION]...; see penstock-bench embedded --help\n",
               which == "--help" ? stdout : stderr);
    return which == "--help" ? 0 : penstock::load::kFailed;
  }
  try {
    return penstock::load::run(argc - 1, argv + 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock-bench: %s\n", error.what());
    return penstock::load::kFailed;
  }
}
