#include "reconciler/gate_comparison.hpp"

namespace penstock::reconciler {
namespace {

constexpr const char* kTooLow = "free_too_low";    // units that nobody can buy
constexpr const char* kTooHigh = "free_too_high";  // orders that will be accepted and then fail
constexpr const char* kMissing = "missing_sku";    // in the books, not at the gate
constexpr const char* kUnknown = "unknown_sku";    // at the gate, not in the books

std::map<orders::Sku, const orders::SkuSnapshot*> by_sku(std::span<const orders::SkuSnapshot> gate) {
  std::map<orders::Sku, const orders::SkuSnapshot*> index;
  for (const auto& sku : gate) index[sku.sku] = &sku;
  return index;
}

}  // namespace

GateComparison::GateComparison(Context& context) : logger_(context.logger()) {
  for (const auto* kind : {kTooLow, kTooHigh, kMissing, kUnknown}) {
    gauges_[kind] = &context.metrics().gauge("penstock_reconcile_differences",
                                             "SKUs for which gate and books disagree lastingly, by kind.",
                                             {{"kind", kind}});
  }
}

void GateComparison::compare(std::span<const orders::SkuSnapshot> gate,
                             std::span<const orders::GateSku> books) {
  auto found = find(gate, books);
  std::map<std::string, int> lasting;
  for (const auto& [sku, difference] : found) {
    const auto before = last_.find(sku);
    if (before == last_.end() || before->second != difference) continue;
    ++lasting[difference.kind];
    report(sku, difference);
  }
  for (const auto& [kind, gauge] : gauges_) gauge->set(lasting[kind]);
  last_ = std::move(found);
}

GateComparison::Differences GateComparison::find(std::span<const orders::SkuSnapshot> gate,
                                                 std::span<const orders::GateSku> books) {
  auto unmatched = by_sku(gate);
  Differences found;
  for (const auto& book : books) {
    const auto at_gate = unmatched.find(book.sku);
    if (at_gate == unmatched.end()) {
      found[book.sku] = {kMissing, 0, book.free};
      continue;
    }
    const auto free = at_gate->second->free;
    if (free != book.free) found[book.sku] = {free < book.free ? kTooLow : kTooHigh, free, book.free};
    unmatched.erase(at_gate);
  }
  for (const auto& [sku, snapshot] : unmatched) found[sku] = {kUnknown, snapshot->free, 0};
  return found;
}

void GateComparison::report(const orders::Sku& sku, const Difference& difference) {
  if (std::uint64_t suppressed = 0; reports_.pass(suppressed)) {
    logger_.warn("gate_differs_from_books", {{"kind", difference.kind},
                                             {"sku", sku.str()},
                                             {"gate_free", difference.gate},
                                             {"books_free", difference.books},
                                             {"suppressed", suppressed}});
  }
}

std::vector<orders::GateSku> missing_at_gate(std::span<const orders::SkuSnapshot> gate,
                                             std::span<const orders::GateSku> books) {
  const auto known = by_sku(gate);
  std::vector<orders::GateSku> missing;
  for (const auto& book : books) {
    const auto at_gate = known.find(book.sku);
    if (at_gate == known.end() || at_gate->second->terms != book.terms) missing.push_back(book);
  }
  return missing;
}

}  // namespace penstock::reconciler
