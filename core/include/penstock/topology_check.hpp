// What every transport checks about a topology before it creates anything.
#pragma once

#include "penstock/message_check.hpp"
#include "penstock/transport.hpp"

#include <algorithm>
#include <string>

namespace penstock {

inline Error no_such_queue(const QueueName& name) {
  return {ErrorCode::NotFound, "queue " + name.str() + " was never declared; declare it first"};
}

// Errors: InvalidArgument names the queue and what is wrong with it.
inline Result<void> check_topology(const Topology& topology) {
  const auto refuse = [](const QueueSpec& queue, const std::string& problem) {
    return Error{ErrorCode::InvalidArgument, "queue '" + queue.name.str() + "': " + problem};
  };
  for (const auto& queue : topology.queues) {
    const auto length = queue.name.str().size();
    if (length < 1 || length > kMaxRoutingKeyBytes || !is_storable_text(queue.name.str())) {
      return refuse(queue, "a name of " + std::to_string(length) + " bytes; allowed are 1 to " +
                               std::to_string(kMaxRoutingKeyBytes) + " of UTF-8");
    }
    if (queue.max_attempts < 1) return refuse(queue, "max_attempts is 0; at least 1 is needed");
    for (const auto& key : queue.routing_keys) {
      if (key.empty() || key.size() > kMaxRoutingKeyBytes || !is_storable_text(key)) {
        return refuse(queue, "a routing key of " + std::to_string(key.size()) + " bytes; allowed are 1 to " +
                                 std::to_string(kMaxRoutingKeyBytes) + " of UTF-8");
      }
    }
    const auto same_name = [&](const QueueSpec& other) { return other.name == queue.name; };
    if (std::count_if(topology.queues.begin(), topology.queues.end(), same_name) > 1) {
      return refuse(queue, "is declared twice");
    }
  }
  return {};
}

// What exists must agree with what is declared: the same bound on attempts, and no binding that is no
// longer wanted. Bindings that are missing are for the caller to create.
// Errors: Conflict names the queue, the setting and both values.
inline Result<void> check_agreement(const QueueSpec& existing, const QueueSpec& declared) {
  const auto conflict = [&](const std::string& setting, const std::string& found, const std::string& wanted) {
    return Error{ErrorCode::Conflict, "queue " + declared.name.str() + " exists with " + setting + " " +
                                          found + ", declared is " + wanted +
                                          "; declare what exists, or remove the queue when it is empty"};
  };
  if (existing.max_attempts != declared.max_attempts) {
    return conflict("max_attempts", std::to_string(existing.max_attempts),
                    std::to_string(declared.max_attempts));
  }
  for (const auto& key : existing.routing_keys) {
    const auto& wanted = declared.routing_keys;
    if (std::find(wanted.begin(), wanted.end(), key) == wanted.end()) {
      return conflict("routing key", "'" + key + "'", "without it");
    }
  }
  return {};
}

}  // namespace penstock
