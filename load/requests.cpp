#include "load/requests.hpp"

#include "penstock/json.hpp"

namespace penstock::load {
namespace {

std::string head(std::string_view method, std::string_view path, std::string_view user) {
  std::string text;
  text.reserve(256);
  text.append(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: penstock\r\n");
  if (!user.empty()) text.append("X-User-Id: ").append(user).append("\r\n");
  return text;
}

std::string post(std::string_view path, std::string_view user, const std::string& body) {
  std::string text = head("POST", path, user);
  text += "Content-Type: application/json\r\nContent-Length: ";
  return text.append(std::to_string(body.size())).append("\r\n\r\n").append(body);
}

std::string order_path(std::string_view order_no, std::string_view rest) {
  return std::string("/api/orders/").append(order_no).append(rest);
}

void read_text(const json::Value& object, std::string_view key, std::string& text) {
  const auto* value = object.find(key);
  if (value && value->as_string()) text = *value->as_string();
}

}  // namespace

std::string order_request(const OrderRequest& order) {
  return post("/api/orders", order.user,
              json::Writer{}
                  .begin_object()
                  .key("requestId")
                  .string(order.request_id)
                  .key("productId")
                  .string(order.product)
                  .key("quantity")
                  .integer(order.quantity)
                  .end_object()
                  .take());
}

std::string read_request(std::string_view user, std::string_view order_no) {
  return head("GET", order_path(order_no, ""), user) + "\r\n";
}

std::string cancel_request(std::string_view user, std::string_view order_no) {
  return post(order_path(order_no, "/cancel"), user, "{}");
}

std::string payment_request(const Payment& payment) {
  return post("/api/payments/callback", "",
              json::Writer{}
                  .begin_object()
                  .key("provider")
                  .string("demo")
                  .key("paymentNo")
                  .string(payment.payment_no)
                  .key("orderNo")
                  .string(payment.order_no)
                  .key("amount")
                  .integer(payment.amount_minor)
                  .key("currency")
                  .string(payment.currency)
                  .end_object()
                  .take());
}

OrderView read_order(std::string_view body) {
  OrderView view;
  const auto parsed = json::parse(body);
  if (!parsed) return view;
  read_text(*parsed, "orderNo", view.order_no);
  read_text(*parsed, "status", view.status);
  read_text(*parsed, "reason", view.reason);
  read_text(*parsed, "code", view.code);
  read_text(*parsed, "currency", view.currency);
  const auto* amount = parsed->find("amount");
  if (amount && amount->as_integer()) view.amount_minor = *amount->as_integer();
  return view;
}

}  // namespace penstock::load
