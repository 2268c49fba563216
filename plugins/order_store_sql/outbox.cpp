#include "order_store_sql/outbox.hpp"

#include "penstock/orders/events.hpp"
#include "sql/json_rows.hpp"

#include <cstdio>
#include <set>

namespace penstock::order_store_sql {

using namespace orders;
using sql::RowType;

// Watchers ----------------------------------------------------------------------------------------

class OutboxWatchers::Watch : public OutboxWatch {
 public:
  Watch(std::shared_ptr<Registered> registered, std::function<void()> wake)
      : registered_(std::move(registered)) {
    const std::scoped_lock lock(registered_->mutex);
    place_ = registered_->wakes.insert(registered_->wakes.end(), std::move(wake));
  }
  ~Watch() override {
    const std::scoped_lock lock(registered_->mutex);
    registered_->wakes.erase(place_);
  }

 private:
  const std::shared_ptr<Registered> registered_;
  std::list<std::function<void()>>::iterator place_;
};

std::unique_ptr<OutboxWatch> OutboxWatchers::add(std::function<void()> wake) {
  return std::make_unique<Watch>(registered_, std::move(wake));
}

void OutboxWatchers::wake_all() {
  const std::scoped_lock lock(registered_->mutex);
  for (const auto& wake : registered_->wakes) wake();
}

// Rows --------------------------------------------------------------------------------------------

namespace {

std::string add_statement(const sql::Dialect& d) {
  return "INSERT INTO mq_outbox(event_id, event_type, order_no, body, trace, state, next_at, due_at, "
         "created_at, "
         "updated_at) SELECT r.event_id, r.type, r.order_no, r.body, o.trace, 'NEW', " +
         d.now() + ", CASE WHEN r.type = '" + std::string(kOrderPayDue) + "' THEN o.pay_deadline ELSE " +
         d.now() + " END, " + d.now() + ", " + d.now() + " FROM " +
         d.rows({{"event_id"}, {"type"}, {"order_no"}, {"body"}}) +
         " CROSS JOIN order_info o ON o.order_no = r.order_no";
}

std::string pending_statement(const sql::Dialect& d) {
  return "SELECT id, event_id, event_type, order_no, body, trace, attempts, " + d.epoch_ms("due_at") + " - " +
         d.epoch_ms(d.now()) + " FROM mq_outbox WHERE next_at <= " + d.now() +
         " ORDER BY next_at, id LIMIT ?" + std::string(d.for_update_skip_locked());
}

std::string lease_statement(const sql::Dialect& d) {
  const auto until = d.after(d.now(), "r.span");
  return d.update_from("mq_outbox",
                       {{"state", "'LEASED'"},
                        {"lease_token", "r.token"},
                        {"lease_until", until},
                        {"next_at", until},
                        {"attempts", "mq_outbox.attempts + 1"},
                        {"updated_at", d.now()}},
                       d.rows({{"leased", RowType::Integer}, {"token"}, {"span", RowType::Integer}}),
                       "mq_outbox.id = r.leased");
}

constexpr std::string_view kMineOnly =
    "mq_outbox.event_id = r.marked AND mq_outbox.state = 'LEASED' AND mq_outbox.lease_token = r.token";

std::string mark_rows_of(const sql::Dialect& d) {
  return d.rows({{"marked"}, {"token"}, {"verdict"}, {"detail"}, {"wait", RowType::Integer}});
}

std::string mark_statement(const sql::Dialect& d) {
  return d.update_from(
      "mq_outbox",
      {{"state", "r.verdict"},
       {"next_at", "CASE WHEN r.verdict = 'RETRY' THEN " + d.after(d.now(), "r.wait") + " END"},
       {"evidence", "CASE WHEN r.verdict = 'SENT' THEN r.detail END"},
       {"last_error", "CASE WHEN r.verdict = 'SENT' THEN mq_outbox.last_error ELSE r.detail END"},
       {"lease_token", "NULL"},
       {"lease_until", "NULL"},
       {"updated_at", d.now()}},
      mark_rows_of(d), kMineOnly);
}

std::string_view state_of(OutboxVerdict verdict) {
  switch (verdict) {
    case OutboxVerdict::Sent: return "SENT";
    case OutboxVerdict::Retry: return "RETRY";
    case OutboxVerdict::Dead: return "DEAD";
  }
  return "";
}

}  // namespace

Outbox::Outbox(sql::Database& database, Random& random)
    : database_(database),
      random_(random),
      add_(add_statement(database.dialect())),
      pending_(pending_statement(database.dialect())),
      lease_(lease_statement(database.dialect())),
      leased_("SELECT r.i FROM " + mark_rows_of(database.dialect()) + " CROSS JOIN mq_outbox ON " +
              std::string(kMineOnly) + std::string(database.dialect().for_update())),
      mark_(mark_statement(database.dialect())) {}

void Outbox::add(sql::Transaction& tx, std::span<const NewEvent> events) const {
  if (events.empty()) return;
  sql::JsonRows rows;
  for (const auto& event : events) {
    const OrderEvent body{event_id(event.type, event.order_no),
                          std::string(event.type),
                          event.order_no,
                          {event.lines.begin(), event.lines.end()}};
    rows.add(body.id, event.type, event.order_no, encode(body));
  }
  if (tx.execute(add_, rows.take()) != events.size()) {
    throw sql::Failure(sql::FailureKind::Invariant, "an event was written for an order that has no row");
  }
}

LeaseToken Outbox::new_token() {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(random_.next()),
                static_cast<unsigned long long>(random_.next()));
  return LeaseToken(text);
}

Result<OutboxLease> Outbox::lease(std::size_t max, Milliseconds span) {
  const auto token = new_token();
  return database_.write([&](sql::Transaction& tx) -> Result<OutboxLease> {
    OutboxLease lease{token, {}};
    sql::JsonRows rows;
    auto found = tx.query<std::int64_t, std::string, std::string, std::string, std::string, std::string,
                          std::int64_t, std::int64_t>(pending_, max);
    for (auto& [id, event, type, order_no, body, trace, attempts, due_in] : found) {
      rows.add(id, token, span.count());
      lease.events.push_back({EventId(std::move(event)), std::move(type), OrderNo(std::move(order_no)),
                              std::move(body), std::move(trace), static_cast<std::uint32_t>(attempts),
                              Milliseconds(std::max<std::int64_t>(0, due_in))});
    }
    if (!rows.empty()) tx.execute(lease_, rows.take());
    return lease;
  });
}

Result<std::vector<MarkOutcome>> Outbox::mark(const LeaseToken& token, std::span<const OutboxMark> marks) {
  if (marks.empty()) return std::vector<MarkOutcome>{};
  return database_.write(
      [&](sql::Transaction& tx) -> Result<std::vector<MarkOutcome>> { return mark_rows(tx, token, marks); });
}

std::vector<MarkOutcome> Outbox::mark_rows(sql::Transaction& tx, const LeaseToken& token,
                                           std::span<const OutboxMark> marks) const {
  std::vector<MarkOutcome> outcomes(marks.size(), MarkOutcome::LeaseLost);
  std::vector<std::size_t> places;  // of the rows sent, in `marks`
  std::set<EventId> seen;           // a second mark of one event finds its lease ended by the first
  sql::JsonRows rows;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!seen.insert(marks[i].id).second) continue;
    rows.add(marks[i].id, token, state_of(marks[i].verdict), marks[i].detail, marks[i].after.count());
    places.push_back(i);
  }
  const auto json = rows.take();
  for (const auto& [i] : tx.query<std::int64_t>(leased_, json)) {
    outcomes[places[static_cast<std::size_t>(i)]] = MarkOutcome::Marked;
  }
  tx.execute(mark_, json);
  return outcomes;
}

}  // namespace penstock::order_store_sql
