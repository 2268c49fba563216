#include "reconciler/gate_page.hpp"

#include "penstock/json.hpp"

namespace penstock::reconciler {
namespace {

constexpr std::size_t kMaxWaiting = 100;

HttpResponse page(const Result<std::vector<orders::SkuSnapshot>>& snapshot) {
  if (!snapshot) {
    const bool closed = snapshot.error().code == ErrorCode::NotLoaded;
    return problem_retry_after(503, closed ? "NOT_LOADED" : "DEPENDENCY_DOWN", snapshot.error().message, 1);
  }
  json::Writer writer;
  writer.begin_object().key("skus").begin_array();
  for (const auto& sku : *snapshot) {
    writer.begin_object()
        .key("productId")
        .string(sku.sku.str())
        .key("free")
        .integer(sku.free)
        .key("held")
        .integer(sku.held)
        .end_object();
  }
  HttpResponse response;
  response.body = writer.end_array().end_object().take();
  return response;
}

}  // namespace

GatePage::GatePage(Metrics& metrics, orders::StockGate& gate)
    : gate_(gate),
      lane_({.stage = "gate_page", .max_batch = kMaxWaiting, .max_queue = kMaxWaiting}, metrics,
            [this](std::span<SharedReply> replies) { return answer_all(replies); }) {}

void GatePage::answer(HttpReply reply) {
  const auto shared = std::make_shared<HttpReply>(std::move(reply));
  const bool taken = lane_.submit(shared, [shared](const Result<bool>& answered) {
    if (!answered) shared->send(problem_retry_after(503, "STOPPING", answered.error().message, 1));
  });
  if (!taken)
    shared->send(problem_retry_after(503, "BACKLOG", "too many ask for the gate's figures at once", 1));
}

std::vector<Result<bool>> GatePage::answer_all(std::span<SharedReply> replies) {
  const auto response = page(gate_.snapshot());
  for (const auto& reply : replies) reply->send(response);
  return std::vector<Result<bool>>(replies.size(), true);
}

}  // namespace penstock::reconciler
