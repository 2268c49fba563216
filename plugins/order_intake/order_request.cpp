#include "order_intake/order_request.hpp"

#include "order_intake/fields.hpp"

#include <Poco/SHA2Engine.h>

#include <algorithm>
#include <limits>

namespace penstock::order_intake {
namespace {

using orders::kMaxQuantity;
using orders::Line;

Result<Line> read_line(const Fields& fields) {
  auto sku = fields.id_or_number("productId");
  if (!sku) return sku.error();
  const auto quantity = fields.integer("quantity", 1, kMaxQuantity);
  if (!quantity) return quantity.error();
  return Line{orders::Sku(std::move(sku).value()), *quantity};
}

Result<std::vector<Line>> read_items(const Fields& fields) {
  const auto items = fields.array("items", 1, orders::kMaxLines);
  if (!items) return items.error();
  std::vector<Line> lines;
  lines.reserve((*items)->size());
  for (const auto& item : **items) {
    const auto element = Fields::of(item, {"items", lines.size()}, {"productId", "quantity"});
    if (!element) return element.error();
    auto line = read_line(*element);
    if (!line) return line.error();
    lines.push_back(std::move(line).value());
  }
  return lines;
}

Result<std::vector<Line>> read_lines(const Fields& fields) {
  if (!fields.has("items")) {
    auto line = read_line(fields);
    if (!line) return line.error();
    return std::vector<Line>{std::move(line).value()};
  }
  for (const auto* name : {"productId", "quantity"}) {
    if (fields.has(name)) {
      return Error{ErrorCode::InvalidArgument, std::string(name) +
                                                   ": found beside items, allowed either items, or "
                                                   "productId and quantity"};
    }
  }
  return read_items(fields);
}

// One line per product, by product id.
Result<std::vector<Line>> merged(std::vector<Line> lines) {
  if (lines.size() == 1) return lines;
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.sku < b.sku; });
  std::vector<Line> sums;
  for (auto& line : lines) {
    if (sums.empty() || sums.back().sku != line.sku) {
      sums.push_back(std::move(line));
      continue;
    }
    sums.back().quantity += line.quantity;
    if (sums.back().quantity > kMaxQuantity) {
      return Error{ErrorCode::InvalidArgument,
                   "items: found " + std::to_string(sums.back().quantity) + " units of product " +
                       line.sku.str() + " on several lines, allowed at most " + std::to_string(kMaxQuantity)};
    }
  }
  return sums;
}

std::string hexadecimal(const std::vector<unsigned char>& bytes, std::size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

Result<OrderRequest> parse_order(std::string_view body) {
  const auto value = json::parse(body);
  if (!value) return value.error();
  const auto fields = Fields::of(*value, {}, {"requestId", "items", "productId", "quantity"});
  if (!fields) return fields.error();
  auto request = fields->id("requestId");
  if (!request) return request.error();
  auto lines = read_lines(*fields);
  if (!lines) return lines.error();
  lines = merged(std::move(lines).value());
  if (!lines) return lines.error();
  auto hash = hash_of(*lines);
  return OrderRequest{orders::RequestId(std::move(request).value()), std::move(lines).value(),
                      std::move(hash)};
}

Result<orders::Payment> parse_payment(std::string_view body) {
  const auto value = json::parse(body);
  if (!value) return value.error();
  const auto fields = Fields::of(*value, {}, {"provider", "paymentNo", "orderNo", "amount", "currency"});
  if (!fields) return fields.error();
  auto provider = fields->id("provider");
  if (!provider) return provider.error();
  auto payment_no = fields->id("paymentNo");
  if (!payment_no) return payment_no.error();
  auto order_no = fields->id("orderNo");
  if (!order_no) return order_no.error();
  const auto amount = fields->integer("amount", 0, std::numeric_limits<std::int64_t>::max());
  if (!amount) return amount.error();
  auto currency = fields->currency("currency");
  if (!currency) return currency.error();
  return orders::Payment{std::move(provider).value(), orders::PaymentNo(std::move(payment_no).value()),
                         orders::OrderNo(std::move(order_no).value()), *amount, std::move(currency).value()};
}

Result<void> parse_cancellation(std::string_view body) {
  if (body.empty()) return {};
  const auto value = json::parse(body);
  if (!value) return value.error();
  const auto* object = value->as_object();
  if (object && object->empty()) return {};
  return Error{ErrorCode::InvalidArgument, "the body: a cancellation takes no body, or an empty object"};
}

orders::BodyHash hash_of(const std::vector<orders::Line>& lines) {
  // Neither separator can stand in an id, so different lines never read the same.
  std::string text;
  for (const auto& line : lines) {
    text += line.sku.str();
    text += ' ';
    text += std::to_string(line.quantity);
    text += '\n';
  }
  Poco::SHA2Engine engine;
  engine.update(text);
  return orders::BodyHash(hexadecimal(engine.digest(), 16));
}

}  // namespace penstock::order_intake
