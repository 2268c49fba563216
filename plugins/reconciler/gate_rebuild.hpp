// GateRebuild: closes the gate, reads the books and opens it again with what they say.
//
// In steps, so that nobody sleeps in between: a gate that was open in this process is closed first, then
// the orders that were on their way get a moment to reach the books, then the image is read. An order
// that the gate had held and the image does not know would otherwise leave its units on sale twice.
//
// Not thread-safe: one Worker drives it.
#pragma once

#include "penstock/context.hpp"
#include "penstock/orders/stock_books.hpp"
#include "penstock/orders/stock_gate.hpp"

#include <optional>

namespace penstock::reconciler {

struct GateRebuildSettings {
  Milliseconds settle{1'000};
  std::size_t remembered_requests = 100'000;
};

class GateRebuild {
 public:
  GateRebuild(GateRebuildSettings settings, orders::StockBooks& books, orders::StockGate& gate,
              Logger& logger);

  // One step while the gate is closed. The wait until the next step; zero when the gate is open again.
  Result<Milliseconds> step();
  // The gate was seen open: orders may be on their way when it is closed the next time.
  void gate_is_open() { was_open_ = true; }

 private:
  Result<void> install();

  const GateRebuildSettings settings_;
  orders::StockBooks& books_;
  orders::StockGate& gate_;
  Logger& logger_;
  std::optional<orders::Epoch> begun_;
  bool was_open_ = false;
};

}  // namespace penstock::reconciler
