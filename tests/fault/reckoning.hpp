// The reckoning after a fault: the shop's books against what its buyers were told.
#pragma once

#include "crowd.hpp"
#include "shop.hpp"

#include "penstock/json.hpp"

#include <string>

namespace penstock::fault_test {

// `penstock audit --json`, taken while the server runs, so that the gate is compared too.
class Audit {
 public:
  // Asserts that the books balance.
  explicit Audit(const Shop& shop);

  std::int64_t of_product(const std::string& product, const std::string& term) const;
  std::int64_t orders(const std::string& status) const;
  std::int64_t all_orders() const;
  std::int64_t outbox(const std::string& state) const;
  bool gate_was_checked() const;

 private:
  json::Value report_;
};

// Waits until nothing is on its way any more: outbox and queues are empty, dead ones too.
void wait_until_at_rest(const Server& server);

// Everything that must hold when a sale of `units` of `product` is over and at rest: every accepted request
// has one order in one final state, the books know exactly these orders, every unit is sold to a payer or
// free, the gate says the same, nothing is left over.
void reckon(const Shop& shop, const Server& server, Crowd& crowd, const std::string& product,
            std::int64_t units);

}  // namespace penstock::fault_test
