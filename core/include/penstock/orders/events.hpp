// The events that travel through the outbox and the transport, and their JSON body
// (schema/events/order_event.json).
#pragma once

#include "penstock/orders/order.hpp"
#include "penstock/result.hpp"
#include "penstock/transport.hpp"

#include <string_view>
#include <vector>

namespace penstock::orders {

// Event types are also the routing keys.
inline constexpr std::string_view kOrderCreated = "order.created";    // accepted: lock its stock
inline constexpr std::string_view kOrderPayDue = "order.pay_due";     // delayed to the pay deadline
inline constexpr std::string_view kOrderPaid = "order.paid";          // sold: the gate confirms
inline constexpr std::string_view kOrderReleased = "order.released";  // ended unsold: the gate releases
inline constexpr std::string_view kEventTypes[] = {kOrderCreated, kOrderPayDue, kOrderPaid, kOrderReleased};

struct OrderEvent {
  EventId id;
  std::string type;
  OrderNo order_no;
  std::vector<Line> lines;
};

// Each order has at most one event of each type, so the id is made from both: a repeat of the same
// fact always carries the same id.
EventId event_id(std::string_view type, const OrderNo& order_no);

std::string encode(const OrderEvent& event);
// Errors: InvalidArgument names the field, what was found and what is allowed.
Result<OrderEvent> decode(std::string_view body);

// The queues of the product, one per kind of work.
QueueName lock_queue();     // order.created  → order_consumer
QueueName confirm_queue();  // order.paid     → order_consumer
QueueName pay_due_queue();  // order.pay_due  → timeout_release
QueueName release_queue();  // order.released → timeout_release
Topology order_topology(std::uint32_t max_attempts);

}  // namespace penstock::orders
