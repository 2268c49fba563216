// What every StockGate must do, as tests: each outcome, idempotence, evidence, limits, the sale's
// window, rebuilds, and the books under concurrent use.
//
// An adapter's test file:
//   class Subject : public testkit::StockGateSubject { ... };
//   const testkit::StockGateContract contract("stock_memory", [] { return std::make_unique<Subject>(); });
#pragma once

#include "penstock/orders/stock_gate.hpp"
#include "penstock/testkit/contract_suite.hpp"

namespace penstock::testkit {

// The gate under test, closed and empty.
class StockGateSubject {
 public:
  virtual ~StockGateSubject() = default;
  virtual orders::StockGate& gate() = 0;
  virtual TimePoint now() = 0;  // by the gate's own clock
};

class StockGateContract : public ContractSuite<StockGateSubject> {
 public:
  StockGateContract(std::string adapter, Make make);
};

}  // namespace penstock::testkit
