// StockGate: the fast copy of free stock that answers the crowd before any database is asked.
//
// Per SKU it knows the free units, the sale's terms and, per order, a *hold*: the units taken from
// free for that order. A hold is recorded in the same atomic step that takes the units, lives until
// the order's end (confirm when sold, release when not) and never expires by itself, so a crash
// leaves evidence instead of a hole.
//
// The gate is a copy. The database is the evidence: begin_rebuild/finish_rebuild replace everything
// from it under a new epoch. Until then a gate answers NotLoaded, never "sold out".
//
// Thread rule: thread-safe. Batch calls answer one outcome per item, in order, and one bad item
// never fails its neighbours. An adapter over a network blocks up to its configured time-out; the
// memory adapter does not block.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/orders/order.hpp"
#include "penstock/result.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace penstock::orders {

using Epoch = std::uint64_t;

enum class ReserveOutcome {
  Reserved,       // units taken, hold recorded under the request's order number
  Replayed,       // this user's request id already has a hold or an ended order: `order_no` names it
  KeyReused,      // same request id, other body; nothing held
  OutOfStock,     // nothing held of any line
  LimitExceeded,  // per-user limit or quantity per order; nothing held
  NotStarted,     // before the sale's window, by the gate's clock
  Ended,          // after it
  NotLoaded,      // the gate has no figures for a line, or is being rebuilt      retry: yes
  StaleEpoch,     // this writer's epoch is over: nothing was changed             retry: yes, after refresh
};

constexpr std::string_view to_string(ReserveOutcome outcome) {
  switch (outcome) {
    case ReserveOutcome::Reserved: return "reserved";
    case ReserveOutcome::Replayed: return "replayed";
    case ReserveOutcome::KeyReused: return "key_reused";
    case ReserveOutcome::OutOfStock: return "out_of_stock";
    case ReserveOutcome::LimitExceeded: return "limit_exceeded";
    case ReserveOutcome::NotStarted: return "not_started";
    case ReserveOutcome::Ended: return "ended";
    case ReserveOutcome::NotLoaded: return "not_loaded";
    case ReserveOutcome::StaleEpoch: return "stale_epoch";
  }
  return "";
}

inline constexpr ReserveOutcome kAllReserveOutcomes[] = {
    ReserveOutcome::Reserved,   ReserveOutcome::Replayed,      ReserveOutcome::KeyReused,
    ReserveOutcome::OutOfStock, ReserveOutcome::LimitExceeded, ReserveOutcome::NotStarted,
    ReserveOutcome::Ended,      ReserveOutcome::NotLoaded,     ReserveOutcome::StaleEpoch};

// All lines or none. Two lines of one SKU count together.
struct ReserveRequest {
  OrderNo order_no;  // the number the order will have if this succeeds
  UserId user;
  RequestId request;
  BodyHash body;
  std::vector<Line> lines;
};

struct ReserveAnswer {
  ReserveOutcome outcome = ReserveOutcome::NotLoaded;
  OrderNo order_no;  // Reserved: the request's own; Replayed: the earlier one; otherwise empty
  Sku sku;           // the line that decided a refusal; empty otherwise
};

// Why a hold is given back.
enum class ReleaseKind {
  Undone,  // the order was never accepted: the request id is forgotten, a retry gets a new order
  Ended,   // an accepted order ended unsold: the request id stays answerable
};

struct ReleaseRequest {
  OrderNo order_no;
  std::vector<Line> lines;  // of the order, for adapters that keep holds per SKU
  ReleaseKind kind = ReleaseKind::Ended;
};

enum class ReleaseOutcome {
  Released,     // units back in free, the user's limit given back
  NothingHeld,  // no such hold: released or confirmed before, or never made; nothing changed
};

struct ConfirmRequest {
  OrderNo order_no;
  std::vector<Line> lines;
};

enum class ConfirmOutcome {
  Confirmed,    // the hold is gone and its units are sold
  NothingHeld,  // nothing changed
};

// The terms of a SKU's sale.
struct SaleTerms {
  std::optional<TimePoint> starts_at;
  std::optional<TimePoint> ends_at;            // exclusive
  std::optional<std::int64_t> limit_per_user;  // units per user over all orders
  std::optional<std::int64_t> max_per_order;   // units per order
  bool operator==(const SaleTerms&) const = default;
};

struct GateSku {
  Sku sku;
  std::int64_t free = 0;
  SaleTerms terms;
};

struct GateHold {
  OrderNo order_no;
  UserId user;
  RequestId request;
  BodyHash body;
  std::vector<Line> lines;
  TimePoint held_at{};
  Epoch epoch = 0;
};

// By the time at which holds were taken: so that a long list can be read in pages, and what was seen
// need not be read again.
struct HoldSpan {
  TimePoint from{};  // inclusive
  TimePoint before{};
};

// Units of a SKU that a user bought for good: they count against the limit.
struct GatePurchase {
  UserId user;
  Sku sku;
  std::int64_t quantity = 0;
};

// A request whose order has ended; it is still answered with that order's number.
struct GateAnswered {
  UserId user;
  RequestId request;
  BodyHash body;
  OrderNo order_no;
};

// Everything a gate must know, as the books say it at one instant.
struct GateImage {
  std::vector<GateSku> skus;
  std::vector<GateHold> holds;
  std::vector<GatePurchase> purchases;
  std::vector<GateAnswered> answered;
};

enum class LoadOutcome {
  Added,         // the SKU was unknown and is now on sale with the given free units
  TermsChanged,  // known: new terms taken, free units untouched
  Unchanged,
};

struct SkuSnapshot {
  Sku sku;
  std::int64_t free = 0;
  std::int64_t held = 0;  // sum of the holds' units
  SaleTerms terms;
};

class StockGate {
 public:
  static constexpr std::string_view kServiceName = "stock_gate";
  virtual ~StockGate() = default;

  // Errors: Unavailable (nothing held), UnknownOutcome (may be held: repeat the same request, the
  // gate then answers Replayed).
  virtual std::vector<Result<ReserveAnswer>> reserve(std::span<const ReserveRequest> requests) = 0;

  // Idempotent by order number. Errors: NotLoaded while being rebuilt, Unavailable, UnknownOutcome
  // (repeat).
  virtual std::vector<Result<ReleaseOutcome>> release(std::span<const ReleaseRequest> requests) = 0;
  virtual std::vector<Result<ConfirmOutcome>> confirm(std::span<const ConfirmRequest> requests) = 0;

  // Effect: the gate closes (everything answers NotLoaded) and a new epoch begins.
  virtual Result<Epoch> begin_rebuild() = 0;
  // Effect: replaces all figures and opens the gate. Errors: Conflict when a later rebuild has begun.
  virtual Result<void> finish_rebuild(Epoch epoch, const GateImage& image) = 0;
  // Effect: adds SKUs, or new terms for known ones, to an open gate. Errors: NotLoaded when closed.
  virtual std::vector<Result<LoadOutcome>> load(std::span<const GateSku> skus) = 0;

  // Holds taken within the span, oldest first, at most `limit`. Errors: NotLoaded, Unavailable.
  virtual Result<std::vector<GateHold>> holds(HoldSpan span, std::size_t limit) = 0;
  // Every SKU, by name. Errors: NotLoaded, Unavailable.
  virtual Result<std::vector<SkuSnapshot>> snapshot() = 0;
};

}  // namespace penstock::orders
