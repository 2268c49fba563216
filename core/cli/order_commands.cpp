#include "cli/plugin_session.hpp"

#include "penstock/json.hpp"
#include "penstock/orders/order_store.hpp"

#include <Poco/DateTimeFormatter.h>
#include <Poco/Timestamp.h>

#include <ostream>

namespace penstock::cli {
namespace {

using orders::Order;
using orders::OrderMove;
using orders::OrderNo;
using orders::OrderStore;

std::string utc(TimePoint at) {
  const Poco::Timestamp time(static_cast<Poco::Timestamp::TimeVal>(at.time_since_epoch().count()) * 1000);
  return Poco::DateTimeFormatter::format(time, "%Y-%m-%dT%H:%M:%S.%iZ");
}

std::string order_json(const Order& order, const std::vector<OrderMove>& moves) {
  json::Writer writer;
  writer.begin_object()
      .key("orderNo")
      .string(order.order_no.str())
      .key("userId")
      .string(order.user.str())
      .key("requestId")
      .string(order.request.str())
      .key("status")
      .string(to_string(order.status))
      .key("reason")
      .string(order.reason)
      .key("amount")
      .integer(order.amount_minor)
      .key("currency")
      .string(order.currency)
      .key("createdAt")
      .string(utc(order.created_at))
      .key("payDeadline")
      .string(order.pay_deadline ? utc(*order.pay_deadline) : "")
      .key("lines")
      .begin_array();
  for (const auto& line : order.lines) {
    writer.begin_object()
        .key("productId")
        .string(line.sku.str())
        .key("quantity")
        .integer(line.quantity)
        .key("unitPrice")
        .integer(line.unit_price_minor)
        .end_object();
  }
  writer.end_array().key("moves").begin_array();
  for (const auto& move : moves) {
    writer.begin_object()
        .key("at")
        .string(utc(move.at))
        .key("from")
        .string(move.from ? to_string(*move.from) : "")
        .key("to")
        .string(to_string(move.to))
        .key("actor")
        .string(move.actor)
        .key("reason")
        .string(move.reason)
        .end_object();
  }
  return writer.end_array().end_object().take() + "\n";
}

void print_order(std::ostream& out, const Order& order, const std::vector<OrderMove>& moves) {
  out << "order " << order.order_no.str() << ": " << to_string(order.status)
      << (order.reason.empty() ? "" : " (" + order.reason + ")") << '\n'
      << "  user " << order.user.str() << ", request " << order.request.str() << ", amount "
      << order.amount_minor << ' ' << order.currency << '\n';
  if (order.pay_deadline) out << "  to be paid by " << utc(*order.pay_deadline) << '\n';
  for (const auto& line : order.lines) {
    out << "  " << line.quantity << " x " << line.sku.str() << " at " << line.unit_price_minor << '\n';
  }
  for (const auto& move : moves) {
    out << "  " << utc(move.at) << "  " << (move.from ? std::string(to_string(*move.from)) + " -> " : "")
        << to_string(move.to) << "  by " << move.actor << (move.reason.empty() ? "" : ", " + move.reason)
        << '\n';
  }
}

int show_order(const Invocation& invocation) {
  const OrderNo wanted(invocation.arguments.front());
  return with_plugins(invocation, {OrderStore::kServiceName}, [&](host::Host& host) -> int {
    auto& store = host.service<OrderStore>();
    const auto found = store.find({&wanted, 1});
    if (!found) return report(invocation, found.error());
    const auto& order = found->front();
    if (!order)
      return report(invocation, Error{ErrorCode::NotFound, "no order " + host::quoted(wanted.str())});
    const auto moves = store.moves_after({&wanted, 1}, 0);
    if (!moves) return report(invocation, moves.error());
    if (invocation.json)
      invocation.out << order_json(*order, *moves);
    else
      print_order(invocation.out, *order, *moves);
    return host::kExitOk;
  });
}

constexpr Command kCommands[] = {
    {"orders show",
     "NO",
     1,
     1,
     {},
     "show one order with every move of its life",
     "Rows of the order, then each move: when, from which state to which, by whom and why.\n"
     "Exit status 1 when there is no such order.",
     &show_order},
};

}  // namespace

std::span<const Command> order_commands() {
  return kCommands;
}

}  // namespace penstock::cli
