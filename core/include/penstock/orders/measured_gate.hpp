// MeasuredGate: puts the gate's metrics around any StockGate. Every adapter provides its gate through
// one of these, so the names, the labels and what is counted are the same for all of them.
//
//   penstock_stock_gate_duration_seconds{operation}   one observation per call, whatever its batch
//   penstock_reservations_total{outcome}              one per request; "error" where there was no outcome
//
// Thread rule: thread-safe, as the gate it wraps, which must outlive it.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/metrics.hpp"
#include "penstock/orders/stock_gate.hpp"

#include <array>
#include <iterator>
#include <type_traits>

namespace penstock::orders {

class MeasuredGate : public StockGate {
 public:
  MeasuredGate(StockGate& gate, Metrics& metrics, Clock& clock)
      : gate_(gate),
        clock_(clock),
        reserve_(duration(metrics, "reserve")),
        release_(duration(metrics, "release")),
        confirm_(duration(metrics, "confirm")),
        rebuild_(duration(metrics, "rebuild")),
        load_(duration(metrics, "load")),
        holds_(duration(metrics, "holds")),
        snapshot_(duration(metrics, "snapshot")),
        errors_(outcomes(metrics, "error")) {
    for (const auto outcome : kAllReserveOutcomes) {
      by_outcome_[index(outcome)] = &outcomes(metrics, to_string(outcome));
    }
  }

  std::vector<Result<ReserveAnswer>> reserve(std::span<const ReserveRequest> requests) override {
    auto answers = timed(reserve_, [&] { return gate_.reserve(requests); });
    count(answers);
    return answers;
  }
  std::vector<Result<ReleaseOutcome>> release(std::span<const ReleaseRequest> requests) override {
    return timed(release_, [&] { return gate_.release(requests); });
  }
  std::vector<Result<ConfirmOutcome>> confirm(std::span<const ConfirmRequest> requests) override {
    return timed(confirm_, [&] { return gate_.confirm(requests); });
  }
  Result<Epoch> begin_rebuild() override { return gate_.begin_rebuild(); }
  Result<void> finish_rebuild(Epoch epoch, const GateImage& image) override {
    return timed(rebuild_, [&] { return gate_.finish_rebuild(epoch, image); });
  }
  std::vector<Result<LoadOutcome>> load(std::span<const GateSku> skus) override {
    return timed(load_, [&] { return gate_.load(skus); });
  }
  Result<std::vector<GateHold>> holds(HoldSpan span, std::size_t limit) override {
    return timed(holds_, [&] { return gate_.holds(span, limit); });
  }
  Result<std::vector<SkuSnapshot>> snapshot() override {
    return timed(snapshot_, [&] { return gate_.snapshot(); });
  }

 private:
  static constexpr std::size_t kOutcomes = std::size(kAllReserveOutcomes);
  static std::size_t index(ReserveOutcome outcome) { return static_cast<std::size_t>(outcome); }

  static Histogram& duration(Metrics& metrics, std::string_view operation) {
    return metrics.histogram("penstock_stock_gate_duration_seconds",
                             "Duration of one call of the stock gate.",
                             {{"operation", std::string(operation)}}, kDurationBuckets);
  }
  static Counter& outcomes(Metrics& metrics, std::string_view outcome) {
    return metrics.counter("penstock_reservations_total",
                           "Reserve requests answered by the stock gate, by outcome.",
                           {{"outcome", std::string(outcome)}});
  }

  template <class Call>
  std::invoke_result_t<Call> timed(Histogram& histogram, const Call& call) {
    const auto begin = clock_.steady_now();
    auto answer = call();
    histogram.observe(std::chrono::duration<double>(clock_.steady_now() - begin).count());
    return answer;
  }

  // One addition per outcome and batch, not per request.
  void count(const std::vector<Result<ReserveAnswer>>& answers) {
    std::array<std::size_t, kOutcomes> counts{};
    std::size_t errors = 0;
    for (const auto& answer : answers) {
      if (answer)
        ++counts[index(answer->outcome)];
      else
        ++errors;
    }
    for (std::size_t i = 0; i < kOutcomes; ++i) {
      if (counts[i] > 0) by_outcome_[i]->add(static_cast<double>(counts[i]));
    }
    if (errors > 0) errors_.add(static_cast<double>(errors));
  }

  StockGate& gate_;
  Clock& clock_;
  Histogram& reserve_;
  Histogram& release_;
  Histogram& confirm_;
  Histogram& rebuild_;
  Histogram& load_;
  Histogram& holds_;
  Histogram& snapshot_;
  Counter& errors_;
  std::array<Counter*, kOutcomes> by_outcome_{};
};

}  // namespace penstock::orders
