// GateComparison: holds the gate's figures against the books'. Orders on their way make the two differ
// while a SKU sells, so only a difference of a SKU at rest is reported: two comparisons in a row must find
// neither side moved.
//
// Not thread-safe: one Worker drives it.
#pragma once

#include "penstock/context.hpp"
#include "penstock/orders/stock_gate.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace penstock::reconciler {

class GateComparison {
 public:
  explicit GateComparison(Context& context);

  // Effect: sets the gauges and logs what persists. Both lists as they were at nearly the same time.
  void compare(std::span<const orders::SkuSnapshot> gate, std::span<const orders::GateSku> books);
  // Forgets the last comparison: the gate was rebuilt.
  void forget() { last_.clear(); }

 private:
  struct Difference {
    std::string kind;
    std::int64_t gate = 0;  // free units, as each of the two says
    std::int64_t books = 0;
    bool operator==(const Difference&) const = default;
  };
  using Differences = std::map<orders::Sku, Difference>;

  static Differences find(std::span<const orders::SkuSnapshot> gate, std::span<const orders::GateSku> books);
  void report(const orders::Sku& sku, const Difference& difference);

  Logger& logger_;
  std::map<std::string, Gauge*> gauges_;  // by kind
  Differences last_;
  LogLimit reports_{std::chrono::seconds(30)};
};

// What of the books' list the gate does not have: new SKUs, and known ones whose terms have changed.
std::vector<orders::GateSku> missing_at_gate(std::span<const orders::SkuSnapshot> gate,
                                             std::span<const orders::GateSku> books);

}  // namespace penstock::reconciler
