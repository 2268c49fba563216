#include "penstock/orders/events.hpp"

#include "penstock/json.hpp"

#include <algorithm>

namespace penstock::orders {
namespace {

constexpr std::int64_t kVersion = 1;

Error refuse(const std::string& field, const std::string& found, const std::string& allowed) {
  return {ErrorCode::InvalidArgument, field + ": found " + found + ", allowed " + allowed};
}

std::string describe(const json::Value* value) {
  if (!value) return "nothing";
  if (const auto* number = value->as_integer()) return std::to_string(*number);
  return std::string(value->kind());
}

Result<std::string> read_id(const json::Value& object, std::string_view key, const std::string& field) {
  const auto* value = object.find(key);
  const auto* text = value ? value->as_string() : nullptr;
  if (!text) return refuse(field, describe(value), "a string");
  if (!is_valid_id(*text)) {
    return refuse(field, "a string of " + std::to_string(text->size()) + " bytes",
                  "1 to 64 of A-Z a-z 0-9 . _ - :");
  }
  return *text;
}

Result<Line> read_line(const json::Value& item, const std::string& field) {
  auto sku = read_id(item, "productId", field + ".productId");
  if (!sku) return sku.error();
  const auto* value = item.find("quantity");
  const auto* quantity = value ? value->as_integer() : nullptr;
  if (!quantity || *quantity < 1 || *quantity > kMaxQuantity) {
    return refuse(field + ".quantity", describe(value),
                  "an integer from 1 to " + std::to_string(kMaxQuantity));
  }
  return Line{Sku(std::move(*sku)), *quantity};
}

Result<std::vector<Line>> read_lines(const json::Value& event) {
  const auto* value = event.find("lines");
  const auto* items = value ? value->as_array() : nullptr;
  if (!items) return refuse("lines", describe(value), "an array");
  if (items->size() > kMaxLines) {
    return refuse("lines", std::to_string(items->size()) + " entries",
                  "at most " + std::to_string(kMaxLines));
  }
  std::vector<Line> lines;
  for (std::size_t i = 0; i < items->size(); ++i) {
    auto line = read_line((*items)[i], "lines[" + std::to_string(i) + "]");
    if (!line) return line.error();
    lines.push_back(std::move(*line));
  }
  return lines;
}

Result<void> check_version(const json::Value& event) {
  const auto* value = event.find("version");
  const auto* version = value ? value->as_integer() : nullptr;
  if (!version || *version != kVersion) {
    return refuse("version", describe(value), std::to_string(kVersion));
  }
  return {};
}

}  // namespace

EventId event_id(std::string_view type, const OrderNo& order_no) {
  return EventId(order_no.str() + ":" + std::string(type));
}

std::string encode(const OrderEvent& event) {
  json::Writer writer;
  writer.begin_object()
      .key("version")
      .integer(kVersion)
      .key("eventId")
      .string(event.id.str())
      .key("type")
      .string(event.type)
      .key("orderNo")
      .string(event.order_no.str())
      .key("lines")
      .begin_array();
  for (const auto& line : event.lines) {
    writer.begin_object()
        .key("productId")
        .string(line.sku.str())
        .key("quantity")
        .integer(line.quantity)
        .end_object();
  }
  return writer.end_array().end_object().take();
}

Result<OrderEvent> decode(std::string_view body) {
  auto parsed = json::parse(body);
  if (!parsed) return parsed.error();
  if (!parsed->as_object()) return refuse("body", std::string(parsed->kind()), "an object");
  if (auto version = check_version(*parsed); !version) return version.error();

  auto id = read_id(*parsed, "eventId", "eventId");
  if (!id) return id.error();
  auto type = read_id(*parsed, "type", "type");
  if (!type) return type.error();
  if (std::find(std::begin(kEventTypes), std::end(kEventTypes), *type) == std::end(kEventTypes)) {
    return refuse("type", *type, "order.created, order.pay_due, order.paid, order.released");
  }
  auto order_no = read_id(*parsed, "orderNo", "orderNo");
  if (!order_no) return order_no.error();
  auto lines = read_lines(*parsed);
  if (!lines) return lines.error();
  return OrderEvent{EventId(std::move(*id)), std::move(*type), OrderNo(std::move(*order_no)),
                    std::move(*lines)};
}

QueueName lock_queue() {
  return QueueName("penstock.order.lock");
}
QueueName confirm_queue() {
  return QueueName("penstock.gate.confirm");
}
QueueName pay_due_queue() {
  return QueueName("penstock.order.pay_due");
}
QueueName release_queue() {
  return QueueName("penstock.gate.release");
}

Topology order_topology(std::uint32_t max_attempts) {
  return {{{lock_queue(), {std::string(kOrderCreated)}, max_attempts},
           {confirm_queue(), {std::string(kOrderPaid)}, max_attempts},
           {pay_due_queue(), {std::string(kOrderPayDue)}, max_attempts},
           {release_queue(), {std::string(kOrderReleased)}, max_attempts}}};
}

}  // namespace penstock::orders
