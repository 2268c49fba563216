#include "order_store_sql/payments.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/orders/events.hpp"
#include "sql/json_rows.hpp"

namespace penstock::order_store_sql {

using namespace orders;
using sql::RowType;

namespace {

constexpr std::string_view kActor = "payment";

Result<void> check(const Payment& payment) {
  if (!payment.provider.empty() && !payment.payment_no.empty() && payment.currency.size() == 3 &&
      payment.amount_minor >= 0) {
    return {};
  }
  return Error{ErrorCode::InvalidArgument,
               "payment " + payment.payment_no.str() + ": found amount " +
                   std::to_string(payment.amount_minor) + " and a currency of " +
                   std::to_string(payment.currency.size()) +
                   " letters; needed: provider, number, an amount of at least 0, a currency of 3 letters"};
}

PayOutcome judge(const Payment& payment, const OrderState& order) {
  switch (order.status) {
    case OrderStatus::Processing: return PayOutcome::NotPayable;
    case OrderStatus::WaitingPay: break;
    default: return PayOutcome::RefundRequired;
  }
  const bool exact = payment.amount_minor == order.amount_minor && payment.currency == order.currency;
  return exact ? PayOutcome::Paid : PayOutcome::WrongAmount;
}

// What the payment's row says; none for outcomes that leave no row.
std::optional<std::string_view> recorded_as(PayOutcome outcome) {
  switch (outcome) {
    case PayOutcome::Paid: return "PAID";
    case PayOutcome::WrongAmount: return "WRONG_AMOUNT";
    case PayOutcome::RefundRequired: return "REFUND_REQUIRED";
    default: return std::nullopt;
  }
}

std::string payment_rows(const sql::Dialect& d) {
  return d.rows(
      {{"provider"}, {"payment_no"}, {"order_no"}, {"amount", RowType::Integer}, {"currency"}, {"outcome"}});
}

}  // namespace

Payments::Payments(Tables& tables)
    : tables_(tables),
      recorded_("SELECT r.i, p.order_no, p.amount_minor, p.currency FROM " +
                tables.database.dialect().rows({{"provider"}, {"payment_no"}}) +
                " CROSS JOIN payment p ON p.provider = r.provider AND p.payment_no = r.payment_no"),
      record_(
          "INSERT INTO payment(provider, payment_no, order_no, amount_minor, currency, outcome, created_at) "
          "SELECT "
          "r.provider, r.payment_no, r.order_no, r.amount, r.currency, r.outcome, " +
          tables.database.dialect().now() + " FROM " + payment_rows(tables.database.dialect())) {}

std::vector<Result<PayAnswer>> Payments::pay(std::span<const Payment> payments) {
  return run_batch<PayAnswer>(payments, [&](Batch part) { return pay_batch(part); });
}

Result<std::vector<Result<PayAnswer>>> Payments::pay_batch(Batch payments) {
  using Done = Committed<std::vector<Result<PayAnswer>>>;
  Rounds rounds;
  for (const auto& payment : payments) {
    rounds.add({"n" + payment.order_no.str(), "p" + payment.provider + '\n' + payment.payment_no.str()});
  }
  return commit<std::vector<Result<PayAnswer>>>(tables_, [&](sql::Transaction& tx) -> Result<Done> {
    Outcomes outcomes(payments.size());
    bool sold = false;
    for (const auto& items : rounds.positions()) sold |= pay_round(tx, payments, items, outcomes);
    if (const auto hit = fail_point::hit("store.pay.in_transaction"); !hit.ok()) return hit.error();
    return Done{outcomes.take(), sold};
  });
}

bool Payments::pay_round(sql::Transaction& tx, Batch payments, const Items& items, Outcomes& outcomes) const {
  const auto earlier = recorded(tx, payments, items);
  std::vector<OrderNo> numbers;
  for (const auto item : items) numbers.push_back(payments[item].order_no);
  const auto states = tables_.orders.states(tx, numbers);
  sql::JsonRows rows;
  std::vector<OrderNo> sold;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& payment = payments[items[i]];
    const bool known = states[i] && !states[i]->tombstone;
    if (const auto checked = check(payment); !checked.ok()) {
      outcomes.set(items[i], checked.error());
      continue;
    }
    auto outcome = known ? judge(payment, *states[i]) : PayOutcome::UnknownOrder;
    if (earlier[i]) outcome = *earlier[i];
    if (const auto name = recorded_as(outcome)) {
      rows.add(payment.provider, payment.payment_no, payment.order_no, payment.amount_minor, payment.currency,
               *name);
    }
    if (outcome == PayOutcome::Paid) sold.push_back(payment.order_no);
    const auto before = known ? states[i]->status : OrderStatus::Processing;
    outcomes.set(items[i], PayAnswer{outcome, outcome == PayOutcome::Paid ? OrderStatus::Paid : before});
  }
  if (!rows.empty()) tx.execute(record_, rows.take());
  sell(tx, sold);
  return !sold.empty();
}

// Repeated or NumberReused where the provider's number was recorded before.
std::vector<std::optional<PayOutcome>> Payments::recorded(sql::Transaction& tx, Batch payments,
                                                          const Items& items) const {
  sql::JsonRows rows;
  for (const auto item : items) rows.add(payments[item].provider, payments[item].payment_no);
  std::vector<std::optional<PayOutcome>> outcomes(items.size());
  for (const auto& [i, order_no, amount, currency] :
       tx.query<std::int64_t, std::string, std::int64_t, std::string>(recorded_, rows.take())) {
    const auto& payment = payments[items[static_cast<std::size_t>(i)]];
    const bool same =
        payment.order_no.str() == order_no && payment.amount_minor == amount && payment.currency == currency;
    outcomes[static_cast<std::size_t>(i)] = same ? PayOutcome::Repeated : PayOutcome::NumberReused;
  }
  return outcomes;
}

void Payments::sell(sql::Transaction& tx, const std::vector<OrderNo>& order_nos) const {
  if (order_nos.empty()) return;
  const auto lines = tables_.orders.lines(tx, order_nos);
  std::vector<Move> moves;
  std::vector<NewEvent> events;
  for (std::size_t i = 0; i < order_nos.size(); ++i) {
    moves.push_back({order_nos[i], OrderStatus::WaitingPay, OrderStatus::Paid, kActor, ""});
    events.push_back({kOrderPaid, order_nos[i], lines[i]});
  }
  tables_.orders.move(tx, moves);
  tables_.outbox.add(tx, events);
  tables_.stock.end_locks(tx, order_nos, LockEnd::Sold);
}

}  // namespace penstock::order_store_sql
