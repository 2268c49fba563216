// penstock-sale: lets buyers go through a flash sale over HTTP, and tells what they were told.
#include "load/arguments.hpp"
#include "load/sale.hpp"

#include "penstock/json.hpp"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <exception>
#include <random>
#include <stdexcept>

namespace penstock::load {
namespace {

constexpr int kIncomplete = 1;
constexpr int kUsage = 2;

struct Options {
  SaleSettings sale;
  bool json = false;
};

bool read_options(int argc, char** argv, Options& options) {
  SaleSettings& sale = options.sale;
  std::string url = "127.0.0.1:8080";
  std::int64_t buyers = 1'000, connections = 1'000, quantity = 1, seed = 0;
  std::int64_t twice = sale.twice_percent, pay = sale.pay_percent, cancel = sale.cancel_percent;
  std::int64_t arrival = sale.arrival.count(), poll = sale.poll.count(), deadline = 60;
  sale.product = "demo-sneaker";

  Arguments arguments(
      "penstock-sale",
      "Lets buyers order one product over HTTP: some press twice, some pay, some cancel, the rest walk\n"
      "away until their pay deadline passes. Waits until every accepted order has ended, then prints what\n"
      "the buyers were told. Exit status: 0 all ended, 1 not by the deadline or answers that contradict\n"
      "each other, 2 wrong usage.");
  arguments.text("url", url, "Address of the public listener.");
  arguments.text("product", sale.product, "Product to order.");
  arguments.number("quantity", quantity, 1, 1'000'000, "Units per order.");
  arguments.number("buyers", buyers, 1, 1'000'000, "How many buyers come.");
  arguments.number("connections", connections, 1, 60'000, "Keep-alive connections they share.");
  arguments.number("twice-percent", twice, 0, 100, "Share of buyers who press twice at once.");
  arguments.number("pay-percent", pay, 0, 100, "Share of accepted orders that are paid.");
  arguments.number("cancel-percent", cancel, 0, 100,
                   "Share that is cancelled, half at once; the rest walk away.");
  arguments.number("arrival-ms", arrival, 0, 3'600'000, "Time over which the buyers come, in milliseconds.");
  arguments.number("poll-ms", poll, 1, 60'000, "Time between two looks at an order, in milliseconds.");
  arguments.number("deadline-seconds", deadline, 1, 86'400, "Most time for everything, in seconds.");
  arguments.number("seed", seed, 0, INT64_MAX,
                   "Decides who does what, and is part of user and request ids; 0 = random.");
  arguments.text("answers", sale.answers_path, "File to log every answer to, one JSON object per line.");
  arguments.toggle("json", options.json, "Prints the result as one JSON object.");
  if (!arguments.parse(argc, argv)) return false;
  if (pay + cancel > 100)
    throw std::invalid_argument("--pay-percent and --cancel-percent are over 100 together");

  sale.target = Target::parse(url);
  sale.buyers = static_cast<std::size_t>(buyers);
  sale.connections = static_cast<std::size_t>(connections);
  sale.quantity = quantity;
  sale.twice_percent = static_cast<int>(twice);
  sale.pay_percent = static_cast<int>(pay);
  sale.cancel_percent = static_cast<int>(cancel);
  sale.arrival = Milliseconds(arrival);
  sale.poll = Milliseconds(poll);
  sale.deadline = std::chrono::seconds(deadline);
  sale.seed = seed == 0 ? std::random_device{}() : static_cast<std::uint64_t>(seed);
  return true;
}

std::size_t sum(const std::map<std::string, std::size_t>& counts) {
  std::size_t total = 0;
  for (const auto& [name, count] : counts) total += count;
  return total;
}

void print_progress(const SaleResult& result) {
  static const bool terminal = ::isatty(STDERR_FILENO) != 0;
  std::fprintf(stderr, "%s%5.1f s  asked %zu  accepted %zu  refused %zu  in progress %zu%s",
               terminal ? "\r" : "", result.seconds, result.asked, result.accepted, sum(result.refused),
               result.asked - sum(result.refused) - (result.accepted - result.unfinished),
               terminal ? "   " : "\n");
}

void print_latency(const char* name, const Latency& latency) {
  std::printf("%-26s p50 %8.1f ms   p99 %8.1f ms\n", name, milliseconds(latency.at(.5)),
              milliseconds(latency.at(.99)));
}

void print_table(const SaleSettings& settings, const SaleResult& result) {
  std::printf("\n%-26s %8zu   (seed %" PRIu64 ", %.1f s)\n", "buyers who asked", result.asked, settings.seed,
              result.seconds);
  std::printf("%-26s %8zu\n", "accepted", result.accepted);
  for (const auto& [state, count] : result.states) std::printf("  %-24s %8zu\n", state.c_str(), count);
  std::printf("%-26s %8zu\n", "refused", sum(result.refused));
  for (const auto& [code, count] : result.refused) std::printf("  %-24s %8zu\n", code.c_str(), count);
  if (result.unanswered > 0) std::printf("%-26s %8zu\n", "never answered", result.unanswered);
  if (result.unfinished > 0) std::printf("%-26s %8zu\n", "not ended by the deadline", result.unfinished);
  if (result.repeats > 0) std::printf("%-26s %8zu\n", "requests sent again", result.repeats);
  print_latency("press to accepted", result.accept);
  print_latency("accepted to WAITING_PAY", result.settle);
  for (const auto& what : result.contradictions) std::printf("contradiction: %s\n", what.c_str());
}

void write_counts(json::Writer& out, const char* name, const std::map<std::string, std::size_t>& counts) {
  out.key(name).begin_object();
  for (const auto& [key, count] : counts) out.key(key).integer(static_cast<std::int64_t>(count));
  out.end_object();
}

void write_latency(json::Writer& out, const char* name, const Latency& latency) {
  out.key(name).begin_object();
  out.key("count").integer(static_cast<std::int64_t>(latency.count()));
  out.key("p50Ms").number(milliseconds(latency.at(.5))).key("p99Ms").number(milliseconds(latency.at(.99)));
  out.end_object();
}

void print_json(const SaleSettings& settings, const SaleResult& result) {
  const auto count = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  json::Writer out;
  out.begin_object();
  out.key("seed").integer(static_cast<std::int64_t>(settings.seed)).key("seconds").number(result.seconds);
  out.key("asked").integer(count(result.asked)).key("accepted").integer(count(result.accepted));
  write_counts(out, "refused", result.refused);
  write_counts(out, "states", result.states);
  out.key("unanswered").integer(count(result.unanswered)).key("unfinished").integer(count(result.unfinished));
  out.key("repeats").integer(count(result.repeats));
  write_latency(out, "accept", result.accept);
  write_latency(out, "settle", result.settle);
  out.key("contradictions").begin_array();
  for (const auto& what : result.contradictions) out.string(what);
  out.end_array().end_object();
  std::printf("%s\n", out.take().c_str());
}

int run(int argc, char** argv) {
  Options options;
  if (!read_options(argc, argv, options)) return 0;
  Sale sale(options.sale);
  const SaleResult& result = sale.run(print_progress);
  print_progress(result);
  std::fputc('\n', stderr);
  if (options.json)
    print_json(options.sale, result);
  else
    print_table(options.sale, result);
  return result.complete() ? 0 : kIncomplete;
}

}  // namespace
}  // namespace penstock::load

int main(int argc, char** argv) {
  try {
    return penstock::load::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock-sale: %s\n", error.what());
    return penstock::load::kUsage;
  }
}
