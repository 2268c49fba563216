// The order of steps that turns a batch of requests into accepted orders: hold at the gate, commit in
// the store, and give back every hold whose order is known never to exist.
//
//   gate.reserve ─refused──▶ answered at once, before anything is committed
//       │ held (its own number, or the number this request got before)
//   store.accept ─accepted, or accepted before───────▶ 202
//       ├─ can never be accepted, nothing was changed ▶ hold undone, refusal
//       ├─ the number was given up meanwhile ─────────▶ hold undone, once more with a new number
//       └─ outcome unknown ───────────────────────────▶ hold kept, 503: the reconciler asks the store
//
// Not thread-safe, and one process runs one of it at a time: between a failed accept and the undoing
// of its hold nobody else of this process may accept the same number.
#pragma once

#include "penstock/logger.hpp"
#include "penstock/metrics.hpp"
#include "penstock/orders/order_no.hpp"
#include "penstock/orders/order_store.hpp"
#include "penstock/orders/stock_gate.hpp"

#include <functional>
#include <span>
#include <vector>

namespace penstock::order_intake {

enum class IntakeOutcome {
  Accepted,   // committed, now or by an earlier send of the same request
  KeyReused,  // the user's request id belongs to another order
  OutOfStock,
  LimitExceeded,
  NotStarted,
  Ended,
  NotLoaded,       // the gate has no figures; nothing is held        retry: yes
  UnknownProduct,  // the books do not know a product
  DependencyDown,  // gate or store away; nothing is held             retry: yes
  OutcomeUnknown,  // perhaps accepted; the same request again tells  retry: yes
  Failed,          // a defect or broken data
};

struct IntakeAnswer {
  IntakeOutcome outcome = IntakeOutcome::Failed;
  orders::OrderNo order_no;  // Accepted
  orders::Sku sku;           // the line that decided a refusal, if one did
};

class AcceptSequence {
 public:
  // Called exactly once per request, with its place in the batch, as soon as its answer is certain.
  using Answer = std::function<void(std::size_t, const IntakeAnswer&)>;

  AcceptSequence(orders::StockGate& gate, orders::OrderStore& store, orders::OrderNoGenerator& numbers,
                 Metrics& metrics, Logger& logger);

  // `batch` arrives without order numbers and is used up. Blocks for the gate and one transaction
  // (twice when a number was given up meanwhile).
  void run(std::span<orders::NewOrder> batch, const Answer& answer);

 private:
  // A request on its way: about to hold units, or holding them.
  struct Request {
    std::size_t place = 0;
    orders::NewOrder order;
    bool held_now = false;  // its hold was made by this very run, not by an earlier one
  };
  // All requests of the batch that share one order number, and so one row and one fate.
  struct Group {
    orders::NewOrder order;
    std::vector<std::size_t> places;
    bool held_now = false;
  };

  // The requests whose number was given up meanwhile.
  std::vector<Request> attempt(std::vector<Request> requests, const Answer& answer);
  std::vector<Request> reserve(std::vector<Request> requests, const Answer& answer);
  std::vector<Result<orders::AcceptAnswer>> accept(std::vector<Group>& groups);
  std::vector<Request> settle(std::vector<Group> groups,
                              const std::vector<Result<orders::AcceptAnswer>>& results, const Answer& answer);
  void undo(const std::vector<orders::ReleaseRequest>& holds);
  void count_accept(const Result<orders::AcceptAnswer>& result);
  static std::vector<Group> group_by_number(std::vector<Request> requests);

  orders::StockGate& gate_;
  orders::OrderStore& store_;
  orders::OrderNoGenerator& numbers_;
  Logger& logger_;
  LogLimit failures_{std::chrono::seconds(5)};
  LogLimit kept_holds_{std::chrono::seconds(5)};
  // By outcome; the last one counts errors.
  std::vector<Counter*> accepts_;
};

}  // namespace penstock::order_intake
