// Every statement of the SQL transport, made once from the dialect's fragments.
#pragma once

#include "sql/dialect.hpp"

#include <string>

namespace penstock::transport_sql {

struct Statements {
  explicit Statements(const sql::Dialect& dialect);

  // declaring
  std::string find_queue;         // name → queue_id, max_attempts
  std::string bindings_of_queue;  // queue_id → routing_key
  std::string add_queue;          // name, max_attempts
  std::string add_binding;        // routing_key, queue_id

  // publishing
  std::string all_bindings;  // → routing_key, queue_id, name
  std::string add_messages;  // rows: queue_id, message_id, routing_key, body, trace, delay

  // leasing
  std::string next_due;      // queue_id three times → milliseconds until the next message, or NULL
  std::string look;          // queue_id twice → leases that ran out, suspects that are due (0 or more)
  std::string park_expired;  // reason, queue_id, max_attempts
  std::string reclaim;       // max_attempts - 1 twice, queue_id
  std::string due_suspect;   // queue_id → messages, at most one
  std::string due_messages;  // queue_id, limit → messages
  std::string lease;         // token, span, rows: message_no
  std::string hand_back;     // queue_id, token

  // settling: each row only as long as its lease stands
  std::string done;   // token, rows: message_no
  std::string retry;  // rows: message_no, token, alone, wait, reason, max_attempts - 1
  std::string dead;   // rows: message_no, token, reason

  // looking, and parked messages
  std::string depth;      // queue_id five times → ready, delayed, leased, expired, dead
  std::string oldest;     // queue_id → age in milliseconds of the oldest ready message, or NULL
  std::string list_dead;  // queue_id, limit
  std::string replay;     // queue_id, message_id
  std::string drop;       // queue_id, message_id
};

}  // namespace penstock::transport_sql
