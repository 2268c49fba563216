#include "transport_sql/statements.hpp"

namespace penstock::transport_sql {
namespace {

using sql::Dialect;
using sql::RowType;

// "WHERE queue_id = ? AND state = '…'": the state is written out, which is what lets the partial index
// of that state be used.
std::string in_state(const std::string& state) {
  return " FROM transport_message WHERE queue_id = ? AND state = '" + state + "'";
}

const std::string kNoLease = "lease_token = NULL, lease_until = NULL";

std::string due(const Dialect& d, int suspect, const std::string& limit) {
  return "SELECT message_no, message_id, routing_key, body, trace, attempts, " + d.epoch_ms("published_at") +
         ", visible_at" + in_state("READY") + " AND suspect = " + std::to_string(suspect) +
         " AND visible_at <= " + d.now() + " ORDER BY visible_at, message_no LIMIT " + limit +
         std::string(d.for_update_skip_locked());
}

std::string add_messages(const Dialect& d) {
  const auto rows = d.rows(
      {{"queue", RowType::Integer}, {"id"}, {"routed"}, {"content"}, {"traced"}, {"wait", RowType::Integer}});
  return d.insert_skipping(
      "transport_message",
      "queue_id, message_id, routing_key, body, trace, state, attempts, suspect, visible_at, "
      "reason, published_at",
      "SELECT r.queue, r.id, r.routed, r.content, r.traced, 'READY', 0, 0, " + d.after(d.now(), "r.wait") +
          ", '', " + d.now() + " FROM " + rows + " ORDER BY r.i");
}

std::string next_due(const Dialect& d) {
  return "SELECT " + d.epoch_ms("MIN(at)") + " - " + d.epoch_ms(d.now()) +
         " FROM (SELECT MIN(visible_at) AS at" + in_state("READY") +
         " AND suspect = 0 UNION ALL SELECT MIN(visible_at)" + in_state("READY") +
         " AND suspect = 1 UNION ALL SELECT MIN(lease_until)" + in_state("LEASED") + ") soonest";
}

std::string look(const Dialect& d) {
  return "SELECT (SELECT COUNT(*)" + in_state("LEASED") + " AND lease_until <= " + d.now() +
         "), (SELECT COUNT(*)" + in_state("READY") + " AND suspect = 1 AND visible_at <= " + d.now() + ")";
}

std::string park_expired(const Dialect& d) {
  return "UPDATE transport_message SET state = 'DEAD', reason = ?, parked_at = " + d.now() + ", " + kNoLease +
         " WHERE queue_id = ? AND state = 'LEASED' AND lease_until <= " + d.now() +
         " AND suspect = 1 AND attempts >= ?";
}

// A message that had company gets at least one delivery alone, whatever it has been through.
std::string reclaim(const Dialect& d) {
  return "UPDATE transport_message SET state = 'READY', attempts = CASE WHEN suspect = 0 AND attempts > ? "
         "THEN ? "
         "ELSE attempts END, suspect = 1, visible_at = lease_until, " +
         kNoLease + " WHERE queue_id = ? AND state = 'LEASED' AND lease_until <= " + d.now();
}

std::string numbers(const Dialect& d) {
  return "(SELECT r.number FROM " + d.rows({{"number", RowType::Integer}}) + ")";
}

constexpr std::string_view kMine =
    "transport_message.message_no = r.number AND transport_message.state = 'LEASED' AND "
    "transport_message.lease_token = r.token";

std::string retry(const Dialect& d) {
  return d.update_from(
      "transport_message",
      {{"state", "'READY'"},
       {"attempts",
        "CASE WHEN r.alone = 1 AND transport_message.suspect = 0 AND transport_message.attempts > "
        "r.most THEN r.most ELSE transport_message.attempts END"},
       {"suspect", "r.alone"},
       {"visible_at", d.after(d.now(), "r.wait")},
       {"reason", "r.said"},
       {"lease_token", "NULL"},
       {"lease_until", "NULL"}},
      d.rows({{"number", RowType::Integer},
              {"token"},
              {"alone", RowType::Integer},
              {"wait", RowType::Integer},
              {"said"},
              {"most", RowType::Integer}}),
      kMine);
}

std::string dead(const Dialect& d) {
  return d.update_from("transport_message",
                       {{"state", "'DEAD'"},
                        {"reason", "r.said"},
                        {"parked_at", d.now()},
                        {"lease_token", "NULL"},
                        {"lease_until", "NULL"}},
                       d.rows({{"number", RowType::Integer}, {"token"}, {"said"}}), kMine);
}

// Both values of suspect are named so that the index's order by visible_at serves each of them.
std::string depth(const Dialect& d) {
  const auto count = [](const std::string& of) { return "(SELECT COUNT(*)" + of + ")"; };
  const auto ready = in_state("READY") + " AND suspect IN (0, 1) AND visible_at ";
  const auto leased = in_state("LEASED") + " AND lease_until ";
  return "SELECT " + count(ready + "<= " + d.now()) + ", " + count(ready + "> " + d.now()) + ", " +
         count(leased + "> " + d.now()) + ", " + count(leased + "<= " + d.now()) + ", " +
         count(in_state("DEAD"));
}

}  // namespace

Statements::Statements(const Dialect& d)
    : find_queue("SELECT queue_id, max_attempts FROM transport_queue WHERE name = ?"),
      bindings_of_queue("SELECT routing_key FROM transport_binding WHERE queue_id = ?"),
      add_queue("INSERT INTO transport_queue(name, max_attempts, created_at) VALUES (?, ?, " + d.now() + ")"),
      add_binding("INSERT INTO transport_binding(routing_key, queue_id) VALUES (?, ?)"),
      all_bindings(
          "SELECT b.routing_key, b.queue_id, q.name FROM transport_binding b JOIN transport_queue q ON "
          "q.queue_id = b.queue_id ORDER BY b.routing_key, q.name"),
      add_messages(transport_sql::add_messages(d)),
      next_due(transport_sql::next_due(d)),
      look(transport_sql::look(d)),
      park_expired(transport_sql::park_expired(d)),
      reclaim(transport_sql::reclaim(d)),
      due_suspect(due(d, 1, "1")),
      due_messages(due(d, 0, "?")),
      lease(
          "UPDATE transport_message SET state = 'LEASED', attempts = attempts + 1, lease_token = ?, "
          "lease_until = " +
          d.after(d.now(), "?") + " WHERE message_no IN " + numbers(d)),
      hand_back("UPDATE transport_message SET state = 'READY', attempts = attempts - 1, " + kNoLease +
                " WHERE queue_id = ? AND state = 'LEASED' AND lease_token = ?"),
      done("DELETE FROM transport_message WHERE state = 'LEASED' AND lease_token = ? AND message_no IN " +
           numbers(d)),
      retry(transport_sql::retry(d)),
      dead(transport_sql::dead(d)),
      depth(transport_sql::depth(d)),
      oldest("SELECT " + d.epoch_ms(d.now()) + " - " + d.epoch_ms("MIN(visible_at)") + in_state("READY") +
             " AND suspect IN (0, 1) AND visible_at <= " + d.now()),
      list_dead("SELECT message_id, routing_key, body, reason, attempts, " + d.epoch_ms("parked_at") +
                in_state("DEAD") + " ORDER BY parked_at, message_no LIMIT ?"),
      replay(
          "UPDATE transport_message SET state = 'READY', attempts = 0, suspect = 1, visible_at = " + d.now() +
          ", reason = '', parked_at = NULL WHERE queue_id = ? AND message_id = ? AND state = 'DEAD'"),
      drop("DELETE FROM transport_message WHERE queue_id = ? AND message_id = ? AND state = 'DEAD'") {}

}  // namespace penstock::transport_sql
