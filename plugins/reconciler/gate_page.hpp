// GatePage: GET /admin/gate on the operator listener, the gate's figures as JSON. `penstock audit` holds
// them against the books.
//
//   {"skus":[{"productId":"p1","free":12,"held":88}, …]}      503 while the gate is closed
//
// The gate may be a network away, so it is asked on the page's own thread.
#pragma once

#include "penstock/context.hpp"
#include "penstock/lane.hpp"
#include "penstock/orders/stock_gate.hpp"

#include <memory>

namespace penstock::reconciler {

class GatePage {
 public:
  GatePage(Metrics& metrics, orders::StockGate& gate);
  void answer(HttpReply reply);
  void drain(Deadline deadline) { lane_.drain(deadline); }

 private:
  using SharedReply = std::shared_ptr<HttpReply>;

  // Everybody who asks at the same time gets the same snapshot.
  std::vector<Result<bool>> answer_all(std::span<SharedReply> replies);

  orders::StockGate& gate_;
  Lane<SharedReply, bool> lane_;
};

}  // namespace penstock::reconciler
