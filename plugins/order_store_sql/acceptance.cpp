#include "order_store_sql/acceptance.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/orders/events.hpp"
#include "sql/json_rows.hpp"

#include <set>

namespace penstock::order_store_sql {

using namespace orders;
using sql::RowType;

namespace {

Rounds rounds_of(std::span<const NewOrder> orders) {
  Rounds rounds;
  for (const auto& order : orders) {
    rounds.add({"n" + order.order_no.str(), "r" + order.user.str() + '\n' + order.request.str()});
  }
  return rounds;
}

Error refuse(const NewOrder& order, const std::string& what) {
  return {ErrorCode::InvalidArgument, "order " + order.order_no.str() + ": " + what};
}

Result<void> check(const NewOrder& order) {
  if (order.order_no.empty() || order.user.empty() || order.request.empty()) {
    return refuse(order, "its number, user and request must not be empty");
  }
  if (order.lines.empty() || order.lines.size() > kMaxLines) {
    return refuse(order, "found " + std::to_string(order.lines.size()) + " lines, allowed 1 to " +
                             std::to_string(kMaxLines));
  }
  for (const auto& line : order.lines) {
    if (line.quantity >= 1 && line.quantity <= kMaxQuantity) continue;
    return refuse(order, "found quantity " + std::to_string(line.quantity) + " of " + line.sku.str() +
                             ", allowed 1 to " + std::to_string(kMaxQuantity));
  }
  return {};
}

std::string order_rows(const sql::Dialect& d) {
  return d.rows({{"order_no"},
                 {"user_id"},
                 {"request_id"},
                 {"body_hash"},
                 {"amount", RowType::Integer},
                 {"currency"},
                 {"pay_within", RowType::Integer},
                 {"trace"}});
}

}  // namespace

Acceptance::Acceptance(Tables& tables)
    : tables_(tables),
      known_requests_("SELECT r.i, o.order_no, o.body_hash FROM " +
                      tables.database.dialect().rows({{"order_no"}, {"user_id"}, {"request_id"}}) +
                      " CROSS JOIN order_info o ON o.user_id = r.user_id AND o.request_id = r.request_id"),
      taken_numbers_("SELECT r.i, o.reason FROM " +
                     tables.database.dialect().rows({{"order_no"}, {"user_id"}, {"request_id"}}) +
                     " CROSS JOIN order_info o ON o.order_no = r.order_no"),
      terms_("SELECT c.product_id, c.price_minor, c.currency, c.pay_within_ms FROM " +
             tables.database.dialect().rows({{"sku"}}) + " CROSS JOIN campaign c ON c.product_id = r.sku"),
      insert_orders_(tables.database.dialect().insert_skipping(
          "order_info",
          "order_no, user_id, request_id, body_hash, status, reason, amount_minor, currency, pay_within_ms, "
          "trace, "
          "created_at, updated_at",
          "SELECT r.order_no, r.user_id, r.request_id, r.body_hash, 'PROCESSING', '', r.amount, r.currency, "
          "r.pay_within, r.trace, " +
              tables.database.dialect().now() + ", " + tables.database.dialect().now() + " FROM " +
              order_rows(tables.database.dialect()))),
      insert_items_(
          "INSERT INTO order_item(order_no, line_no, product_id, quantity, unit_price_minor) SELECT "
          "r.order_no, r.line_no, r.sku, r.units, r.price FROM " +
          tables.database.dialect().rows({{"order_no"},
                                          {"line_no", RowType::Integer},
                                          {"sku"},
                                          {"units", RowType::Integer},
                                          {"price", RowType::Integer}})),
      record_(
          "INSERT INTO order_move(order_no, from_status, to_status, actor, reason, moved_at) SELECT "
          "r.order_no, "
          "NULL, 'PROCESSING', 'user', '', " +
          tables.database.dialect().now() + " FROM " + order_rows(tables.database.dialect())) {}

std::vector<Result<AcceptAnswer>> Acceptance::accept(std::span<const NewOrder> orders) {
  return run_batch<AcceptAnswer>(orders, [&](std::span<const NewOrder> part) { return accept_batch(part); });
}

Result<std::vector<Result<AcceptAnswer>>> Acceptance::accept_batch(Orders orders) {
  using Done = Committed<std::vector<Result<AcceptAnswer>>>;
  const auto rounds = rounds_of(orders);
  return commit<std::vector<Result<AcceptAnswer>>>(tables_, [&](sql::Transaction& tx) -> Result<Done> {
    Outcomes outcomes(orders.size());
    bool accepted = false;
    for (const auto& items : rounds.positions()) accepted |= accept_round(tx, orders, items, outcomes);
    if (const auto hit = fail_point::hit("store.accept.in_transaction"); !hit.ok()) return hit.error();
    return Done{outcomes.take(), accepted};
  });
}

bool Acceptance::accept_round(sql::Transaction& tx, Orders orders, const Items& items,
                              Outcomes& outcomes) const {
  Items sound;
  for (const auto item : items) {
    const auto checked = check(orders[item]);
    if (checked.ok())
      sound.push_back(item);
    else
      outcomes.set(item, checked.error());
  }
  if (sound.empty()) return false;
  const auto fresh = settle_known(tx, orders, sound, outcomes);
  if (fresh.empty()) return false;
  const auto terms = terms_of(tx, orders, fresh);
  const auto priced = price(orders, fresh, terms, outcomes);
  if (priced.empty()) return false;
  insert(tx, orders, priced, terms);
  for (const auto& order : priced) {
    outcomes.set(order.item, AcceptAnswer{AcceptOutcome::Accepted, orders[order.item].order_no});
  }
  return true;
}

// The request decides before the number: a repeat may come with a new number.
Acceptance::Items Acceptance::settle_known(sql::Transaction& tx, Orders orders, const Items& items,
                                           Outcomes& outcomes) const {
  sql::JsonRows rows;
  for (const auto item : items) rows.add(orders[item].order_no, orders[item].user, orders[item].request);
  const auto json = rows.take();
  std::vector<bool> settled(items.size(), false);
  for (auto& [i, order_no, body] : tx.query<std::int64_t, std::string, std::string>(known_requests_, json)) {
    const auto item = items[static_cast<std::size_t>(i)];
    const bool same = orders[item].body.str() == body;
    outcomes.set(item, AcceptAnswer{same ? AcceptOutcome::Duplicate : AcceptOutcome::KeyReused,
                                    OrderNo(std::move(order_no))});
    settled[static_cast<std::size_t>(i)] = true;
  }
  for (const auto& [i, reason] : tx.query<std::int64_t, std::string>(taken_numbers_, json)) {
    if (settled[static_cast<std::size_t>(i)]) continue;
    const auto item = items[static_cast<std::size_t>(i)];
    if (reason == kReasonAbandoned) {
      outcomes.set(item, AcceptAnswer{AcceptOutcome::Abandoned, {}});
    } else {
      outcomes.set(item, Error{ErrorCode::Conflict, "order number " + orders[item].order_no.str() +
                                                        " is another request's order"});
    }
    settled[static_cast<std::size_t>(i)] = true;
  }
  Items fresh;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!settled[i]) fresh.push_back(items[i]);
  }
  return fresh;
}

Acceptance::TermsBySku Acceptance::terms_of(sql::Transaction& tx, Orders orders, const Items& items) const {
  std::set<Sku> skus;
  for (const auto item : items) {
    for (const auto& line : orders[item].lines) skus.insert(line.sku);
  }
  sql::JsonRows rows;
  for (const auto& sku : skus) rows.add(sku);
  TermsBySku terms;
  for (auto& [sku, price, currency, pay_within] :
       tx.query<std::string, std::int64_t, std::string, std::int64_t>(terms_, rows.take())) {
    terms[Sku(std::move(sku))] = {price, std::move(currency), pay_within};
  }
  return terms;
}

std::vector<Acceptance::Priced> Acceptance::price(Orders orders, const Items& items, const TermsBySku& terms,
                                                  Outcomes& outcomes) const {
  std::vector<Priced> priced;
  for (const auto item : items) {
    Priced order{.item = item, .amount_minor = 0, .currency = {}, .pay_within_ms = 0};
    std::optional<Result<AcceptAnswer>> refusal;
    for (const auto& line : orders[item].lines) {
      const auto found = terms.find(line.sku);
      if (found == terms.end()) {
        refusal = AcceptAnswer{AcceptOutcome::UnknownSku, {}};
        break;
      }
      const auto& [price, currency, pay_within] = found->second;
      if (!order.currency.empty() && order.currency != currency) {
        refusal = refuse(orders[item], "its lines are in " + order.currency + " and " + currency +
                                           ", one order has one currency");
        break;
      }
      order.currency = currency;
      order.amount_minor += price * line.quantity;  // cannot overflow: loading bounds the price
      // The shortest pay time of its products is the order's.
      const bool shorter = order.pay_within_ms == 0 || pay_within < order.pay_within_ms;
      if (shorter) order.pay_within_ms = pay_within;
    }
    if (refusal)
      outcomes.set(item, std::move(*refusal));
    else
      priced.push_back(std::move(order));
  }
  return priced;
}

void Acceptance::insert(sql::Transaction& tx, Orders orders, const std::vector<Priced>& priced,
                        const TermsBySku& terms) const {
  insert_orders(tx, orders, priced);
  sql::JsonRows items;
  std::vector<NewEvent> events;
  events.reserve(priced.size());
  for (const auto& p : priced) {
    const auto& order = orders[p.item];
    int line_no = 0;
    for (const auto& line : order.lines) {
      items.add(order.order_no, ++line_no, line.sku, line.quantity, terms.at(line.sku).price_minor);
    }
    events.push_back({kOrderCreated, order.order_no, order.lines});
  }
  tx.execute(insert_items_, items.take());
  tables_.outbox.add(tx, events);
}

void Acceptance::insert_orders(sql::Transaction& tx, Orders orders, const std::vector<Priced>& priced) const {
  sql::JsonRows rows;
  for (const auto& p : priced) {
    const auto& order = orders[p.item];
    rows.add(order.order_no, order.user, order.request, order.body, p.amount_minor, p.currency,
             p.pay_within_ms, order.trace);
  }
  const auto json = rows.take();
  if (tx.execute(insert_orders_, json) != priced.size()) {
    throw sql::Failure(sql::FailureKind::Raced,
                       "a number or request was taken while a batch was being accepted");
  }
  tx.execute(record_, json);
}

}  // namespace penstock::order_store_sql
