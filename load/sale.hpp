// A flash sale seen from its buyers: each presses the order button, some twice at once, and then pays,
// cancels, or walks away until the pay deadline passes. Whatever happens to the server meanwhile (503, a
// restart, a lost connection) a buyer repeats the same request with the same id until it is answered.
//
// Thread rule: run() blocks and does all the work; stop() may come from another thread; the rest is for
// after run().
#pragma once

#include "load/answer_log.hpp"
#include "load/client_pool.hpp"
#include "load/latency.hpp"

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace penstock::load {

struct SaleSettings {
  Target target;
  std::string product;
  std::int64_t quantity = 1;
  std::size_t buyers = 1'000;
  std::size_t connections = 1'000;
  int twice_percent = 10;             // of the buyers press the button twice at once
  int pay_percent = 60;               // of the accepted pay
  int cancel_percent = 20;            // of the accepted cancel, half of them at once; the rest walk away
  std::uint64_t seed = 1;             // decides who does what, and is part of every user and request id
  Milliseconds arrival{2'000};        // the buyers come evenly over this time
  Milliseconds answer_limit{10'000};  // for one request; then it is repeated
  Milliseconds first_back_off{50};    // before a repeat; doubles up to max_back_off
  Milliseconds max_back_off{1'000};
  Milliseconds poll{20};          // between two looks at an order
  Milliseconds deadline{60'000};  // for the whole sale
  std::string answers_path;       // see AnswerLog
};

// Counts, in the terms of the table that the demonstration prints.
struct SaleResult {
  std::size_t asked = 0;                       // buyers who pressed
  std::size_t accepted = 0;                    // buyers who got 202
  std::map<std::string, std::size_t> refused;  // buyers by code
  std::size_t unanswered = 0;                  // buyers who never got an answer that settles it
  std::map<std::string, std::size_t> states;   // accepted orders by state, "CANCELLED/TIMEOUT"
  std::size_t unfinished = 0;                  // accepted orders that were in no final state at the end
  std::size_t repeats = 0;                     // requests sent again after a failure or 503
  std::vector<std::string> contradictions;     // answers that cannot both be true; must be empty
  Latency accept;  // from the press to 202, without the ones that had to be repeated
  Latency settle;  // from 202 to WAITING_PAY seen, to the precision of `poll`
  double seconds = 0;

  bool complete() const { return unanswered == 0 && unfinished == 0 && contradictions.empty(); }
};

class Buyer;

class Sale {
 public:
  explicit Sale(SaleSettings settings);
  ~Sale();

  // Blocks until every accepted order has ended, or stop(), or the deadline. `progress` is called a few
  // times a second.
  const SaleResult& run(const std::function<void(const SaleResult&)>& progress);
  void stop() { loop_.stop(); }

  const SaleResult& result() const { return result_; }
  const std::vector<LoggedAnswer>& answers() const { return log_.answers(); }

 private:
  friend class Buyer;
  void report(const std::function<void(const SaleResult&)>& progress);
  void buyer_finished();
  void sum_up();
  std::int64_t elapsed_ms() const;

  const SaleSettings settings_;
  Loop loop_;
  ClientPool pool_;
  AnswerLog log_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Buyer>> buyers_;
  std::size_t finished_ = 0;
  TimePoint began_{};
  SaleResult result_;
};

}  // namespace penstock::load
