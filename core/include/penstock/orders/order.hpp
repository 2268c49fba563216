// One order: its lines, its states and the moves between them.
//
//   PROCESSING ──lock──▶ WAITING_PAY ──pay──▶ PAID ──refund──▶ REFUNDED
//       │                     │
//       ├─no stock─▶ FAILED   │
//       └───────user──────────┴──user, timeout──▶ CANCELLED
//
// Each move is one conditional update on the state it leaves, so of two racing moves one wins.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/orders/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::orders {

enum class OrderStatus { Processing, WaitingPay, Paid, Cancelled, Failed, Refunded };

inline constexpr OrderStatus kAllStatuses[] = {OrderStatus::Processing, OrderStatus::WaitingPay,
                                               OrderStatus::Paid,       OrderStatus::Cancelled,
                                               OrderStatus::Failed,     OrderStatus::Refunded};

// The name on the wire and in the database.
constexpr std::string_view to_string(OrderStatus status) {
  switch (status) {
    case OrderStatus::Processing: return "PROCESSING";
    case OrderStatus::WaitingPay: return "WAITING_PAY";
    case OrderStatus::Paid: return "PAID";
    case OrderStatus::Cancelled: return "CANCELLED";
    case OrderStatus::Failed: return "FAILED";
    case OrderStatus::Refunded: return "REFUNDED";
  }
  return "";
}

constexpr std::optional<OrderStatus> status_from(std::string_view name) {
  for (const auto status : kAllStatuses) {
    if (to_string(status) == name) return status;
  }
  return std::nullopt;
}

constexpr bool may_move(OrderStatus from, OrderStatus to) {
  switch (from) {
    case OrderStatus::Processing:
      return to == OrderStatus::WaitingPay || to == OrderStatus::Failed || to == OrderStatus::Cancelled;
    case OrderStatus::WaitingPay: return to == OrderStatus::Paid || to == OrderStatus::Cancelled;
    case OrderStatus::Paid: return to == OrderStatus::Refunded;
    default: return false;
  }
}

// A final state is one that the accepted request may rest in for good. PAID is final although a
// refund may follow it.
constexpr bool is_final(OrderStatus status) {
  return status != OrderStatus::Processing && status != OrderStatus::WaitingPay;
}

// Why an order is CANCELLED or FAILED; empty otherwise. Names on the wire.
inline constexpr std::string_view kReasonUser = "USER";
inline constexpr std::string_view kReasonTimeout = "TIMEOUT";
inline constexpr std::string_view kReasonNoStock = "NO_STOCK";
// The tombstone of a number whose request was never accepted: no client ever got 202 for it.
inline constexpr std::string_view kReasonAbandoned = "ABANDONED";

inline constexpr std::int64_t kMaxQuantity = 1'000'000;  // of one line
inline constexpr std::size_t kMaxLines = 50;             // of one order

struct Line {
  Sku sku;
  std::int64_t quantity = 0;  // 1..kMaxQuantity
  bool operator==(const Line&) const = default;
};

struct PricedLine {
  Sku sku;
  std::int64_t quantity = 0;
  std::int64_t unit_price_minor = 0;  // snapshot taken when the order was accepted
};

struct Order {
  OrderNo order_no;
  UserId user;
  RequestId request;
  OrderStatus status = OrderStatus::Processing;
  std::string reason;
  std::int64_t amount_minor = 0;
  std::string currency;  // ISO 4217
  std::vector<PricedLine> lines;
  TimePoint created_at{};
  TimePoint updated_at{};
  std::optional<TimePoint> pay_deadline;  // set with WAITING_PAY
};

// One move in an order's life: who, when, why. `sequence` grows with every move of every order, so it
// serves as Last-Event-ID.
struct OrderMove {
  std::int64_t sequence = 0;
  OrderNo order_no;
  std::optional<OrderStatus> from;  // none for the acceptance itself
  OrderStatus to = OrderStatus::Processing;
  std::string actor;  // "user", "order_consumer", "timeout_release", ...
  std::string reason;
  TimePoint at{};
};

}  // namespace penstock::orders
