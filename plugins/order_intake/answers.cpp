#include "order_intake/answers.hpp"

#include "penstock/json.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace penstock::order_intake {
namespace {

constexpr int kRetryAfterSeconds = 1;

HttpResponse ok(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

HttpResponse retry_later(std::string_view code, std::string_view detail) {
  return problem_retry_after(503, code, detail, kRetryAfterSeconds);
}

HttpResponse refusal_problem(IntakeOutcome outcome) {
  switch (outcome) {
    case IntakeOutcome::KeyReused:
      return problem(422, "KEY_REUSED", "this requestId was used for another order; choose a new one");
    case IntakeOutcome::OutOfStock: return problem(409, "STOCK_NOT_ENOUGH", "not enough units are free");
    case IntakeOutcome::LimitExceeded:
      return problem(409, "LIMIT_EXCEEDED", "more units than one buyer or one order may have");
    case IntakeOutcome::NotStarted: return problem(409, "NOT_STARTED", "the sale has not started");
    case IntakeOutcome::Ended: return problem(409, "ENDED", "the sale has ended");
    case IntakeOutcome::NotLoaded:
      return retry_later("NOT_LOADED", "the stock of this product is not loaded; nothing was ordered");
    case IntakeOutcome::UnknownProduct: return problem(409, "UNKNOWN_PRODUCT", "there is no such product");
    case IntakeOutcome::DependencyDown:
      return retry_later("DEPENDENCY_DOWN", "nothing was ordered; send the same request again");
    case IntakeOutcome::OutcomeUnknown:
      return retry_later(
          "DEPENDENCY_DOWN",
          "whether the order was accepted is not known; send the same request again to learn it");
    case IntakeOutcome::Accepted:
    case IntakeOutcome::Failed: break;
  }
  return problem(500, "INTERNAL", "the order could not be worked on");
}

constexpr std::size_t kIntakeOutcomes = static_cast<std::size_t>(IntakeOutcome::Failed) + 1;

const HttpResponse& prepared_refusal(IntakeOutcome outcome) {
  static const auto prepared = [] {
    std::array<HttpResponse, kIntakeOutcomes> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = refusal_problem(static_cast<IntakeOutcome>(i));
    return all;
  }();
  return prepared[static_cast<std::size_t>(outcome)];
}

// The same problem, with the product in its own member.
HttpResponse refusal_naming(IntakeOutcome outcome, const orders::Sku& sku) {
  auto response = prepared_refusal(outcome);
  response.body.pop_back();
  response.body += ",\"productId\":" + json::quote(sku.str()) + "}";
  return response;
}

std::string order_state(const orders::OrderNo& order_no, orders::OrderStatus status) {
  return json::Writer{}
      .begin_object()
      .key("orderNo")
      .string(order_no.str())
      .key("status")
      .string(to_string(status))
      .end_object()
      .take();
}

std::string payment_state(const orders::Payment& payment, const orders::PayAnswer& answer,
                          std::string_view outcome) {
  return json::Writer{}
      .begin_object()
      .key("orderNo")
      .string(payment.order_no.str())
      .key("status")
      .string(to_string(answer.status))
      .key("outcome")
      .string(outcome)
      .end_object()
      .take();
}

void write_lines(json::Writer& writer, const std::vector<orders::PricedLine>& lines) {
  writer.begin_array();
  for (const auto& line : lines) {
    writer.begin_object()
        .key("productId")
        .string(line.sku.str())
        .key("quantity")
        .integer(line.quantity)
        .key("unitPrice")
        .integer(line.unit_price_minor)
        .end_object();
  }
  writer.end_array();
}

void write_optional(json::Writer& writer, std::string_view name, const std::optional<TimePoint>& at) {
  if (at) writer.key(name).string(instant(*at));
}

void write_optional(json::Writer& writer, std::string_view name, const std::optional<std::int64_t>& number) {
  if (number) writer.key(name).integer(*number);
}

}  // namespace

std::string instant(TimePoint at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return text;
}

HttpResponse malformed(std::string_view detail) {
  return problem(400, "MALFORMED", detail);
}

HttpResponse unauthenticated() {
  static const auto prepared = problem(
      401, "UNAUTHENTICATED", "the header X-User-Id must name the user: 1 to 64 of A-Z a-z 0-9 . _ - :");
  return prepared;
}

HttpResponse not_found(std::string_view detail) {
  return problem(404, "NOT_FOUND", detail);
}

HttpResponse unsupported_media_type() {
  static const auto prepared =
      problem(415, "UNSUPPORTED_MEDIA_TYPE", "the header Content-Type must be application/json");
  return prepared;
}

HttpResponse backlog() {
  static const auto prepared = retry_later("BACKLOG", "too much work is waiting; nothing was done");
  return prepared;
}

HttpResponse stopping() {
  static const auto prepared = retry_later("STOPPING", "this server is stopping; nothing was done");
  return prepared;
}

HttpResponse failure(const Error& error) {
  if (error.code == ErrorCode::Closed) return stopping();
  if (error.code == ErrorCode::Overloaded) return backlog();
  if (error.code == ErrorCode::NotLoaded) return prepared_refusal(IntakeOutcome::NotLoaded);
  if (error.retry() == Retry::No) return problem(500, "INTERNAL", "the request could not be worked on");
  return retry_later("DEPENDENCY_DOWN", "a server behind this one is away; send the same request again");
}

HttpResponse order_accepted(const orders::OrderNo& order_no) {
  auto response = ok(order_state(order_no, orders::OrderStatus::Processing));
  response.status = 202;
  response.headers.emplace_back("Location", "/api/orders/" + order_no.str());
  return response;
}

HttpResponse order_answer(const IntakeAnswer& answer, std::size_t line_count) {
  if (answer.outcome == IntakeOutcome::Accepted) return order_accepted(answer.order_no);
  if (line_count > 1 && !answer.sku.empty()) return refusal_naming(answer.outcome, answer.sku);
  return prepared_refusal(answer.outcome);
}

HttpResponse order_found(const orders::Order& order) {
  json::Writer writer;
  writer.begin_object()
      .key("orderNo")
      .string(order.order_no.str())
      .key("requestId")
      .string(order.request.str())
      .key("status")
      .string(to_string(order.status));
  if (!order.reason.empty()) writer.key("reason").string(order.reason);
  writer.key("amount").integer(order.amount_minor).key("currency").string(order.currency).key("items");
  write_lines(writer, order.lines);
  writer.key("createdAt")
      .string(instant(order.created_at))
      .key("updatedAt")
      .string(instant(order.updated_at));
  write_optional(writer, "payDeadline", order.pay_deadline);
  return ok(writer.end_object().take());
}

HttpResponse cancel_answer(const orders::OrderNo& order_no, const orders::CancelAnswer& answer) {
  switch (answer.outcome) {
    case orders::CancelOutcome::Cancelled:
    case orders::CancelOutcome::AlreadyCancelled:
      return ok(order_state(order_no, orders::OrderStatus::Cancelled));
    case orders::CancelOutcome::NotCancellable:
      return problem(409, "ORDER_NOT_CANCELLABLE", "the order is " + std::string(to_string(answer.status)));
    case orders::CancelOutcome::UnknownOrder: break;
  }
  return not_found("there is no such order");
}

HttpResponse payment_answer(const orders::Payment& payment, const orders::PayAnswer& answer) {
  switch (answer.outcome) {
    case orders::PayOutcome::Paid: return ok(payment_state(payment, answer, "PAID"));
    case orders::PayOutcome::Repeated: return ok(payment_state(payment, answer, "REPEATED"));
    // The provider's message is taken care of: it need not call again.
    case orders::PayOutcome::RefundRequired: return ok(payment_state(payment, answer, "REFUND_REQUIRED"));
    case orders::PayOutcome::WrongAmount:
      return problem(409, "WRONG_AMOUNT",
                     "amount or currency differ from the order's; the refusal is recorded");
    case orders::PayOutcome::NotPayable:
      return problem(
          409, "ORDER_NOT_PAYABLE",
          "the order is " + std::string(to_string(answer.status)) + " and not payable yet; call again");
    case orders::PayOutcome::NumberReused:
      return problem(422, "KEY_REUSED", "this paymentNo belongs to another order or amount");
    case orders::PayOutcome::UnknownOrder: break;
  }
  return not_found("there is no such order");
}

HttpResponse product_found(const orders::Product& product, std::optional<std::int64_t> free_units) {
  json::Writer writer;
  writer.begin_object()
      .key("productId")
      .string(product.sku.str())
      .key("name")
      .string(product.name)
      .key("price")
      .integer(product.price_minor)
      .key("currency")
      .string(product.currency);
  write_optional(writer, "startsAt", product.terms.starts_at);
  write_optional(writer, "endsAt", product.terms.ends_at);
  write_optional(writer, "limitPerUser", product.terms.limit_per_user);
  write_optional(writer, "maxPerOrder", product.terms.max_per_order);
  writer.key("payWithinMs").integer(product.pay_within.count());
  write_optional(writer, "freeUnits", free_units);
  return ok(writer.end_object().take());
}

std::string move_data(const orders::OrderMove& move) {
  json::Writer writer;
  writer.begin_object().key("orderNo").string(move.order_no.str());
  if (move.from) writer.key("from").string(to_string(*move.from));
  writer.key("status").string(to_string(move.to)).key("actor").string(move.actor);
  if (!move.reason.empty()) writer.key("reason").string(move.reason);
  return writer.key("at").string(instant(move.at)).end_object().take();
}

}  // namespace penstock::order_intake
