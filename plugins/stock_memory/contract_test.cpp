#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/stock_gate_contract.hpp"
#include "stock_memory/memory_gate.hpp"

namespace {

class Subject : public penstock::testkit::StockGateSubject {
 public:
  penstock::orders::StockGate& gate() override { return gate_; }
  penstock::TimePoint now() override { return context_.clock().now(); }

 private:
  penstock::testkit::FakeContext context_;
  const std::unique_ptr<penstock::HealthProbe> probe_ = context_.health().probe("stock_gate");
  penstock::stock_memory::MemoryGate gate_{{1'000'000}, context_.clock(), *probe_};
};

const penstock::testkit::StockGateContract contract("stock_memory",
                                                    [] { return std::make_unique<Subject>(); });

}  // namespace
