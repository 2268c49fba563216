#include "cli/plugin_session.hpp"

#include "penstock/json.hpp"
#include "penstock/orders/events.hpp"
#include "penstock/orders/stock_books.hpp"

#include <algorithm>
#include <charconv>
#include <ostream>

namespace penstock::cli {
namespace {

using orders::StockBooks;

constexpr std::size_t kDefaultLimit = 100;
constexpr std::size_t kMaxLimit = 10'000;

std::vector<QueueName> queues() {
  std::vector<QueueName> names;
  for (const auto& queue : orders::order_topology(1).queues) names.push_back(queue.name);
  return names;
}

Result<QueueName> queue_from(const std::string& text) {
  const auto known = queues();
  if (std::find(known.begin(), known.end(), QueueName(text)) != known.end()) return QueueName(text);
  std::vector<std::string> names;
  for (const auto& queue : known) names.push_back(queue.str());
  return Error{ErrorCode::InvalidArgument,
               "QUEUE: found " + host::quoted(text) + ", allowed " + host::joined(names)};
}

Result<std::size_t> limit_from(const Invocation& invocation) {
  if (!invocation.has("--limit")) return kDefaultLimit;
  const auto& text = invocation.options.find("--limit")->second;
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc{} || end != text.data() + text.size() || limit == 0 || limit > kMaxLimit) {
    return Error{ErrorCode::InvalidArgument,
                 "--limit: found " + host::quoted(text) + ", allowed 1 to " + std::to_string(kMaxLimit)};
  }
  return limit;
}

void print(const Invocation& invocation, const std::vector<DeadLetter>& letters) {
  if (!invocation.json) {
    for (const auto& letter : letters) {
      invocation.out << letter.queue.str() << "  " << letter.id.str() << "  after " << letter.attempts
                     << " attempts: " << host::quoted(letter.reason) << '\n';
    }
    invocation.out << letters.size() << " parked\n";
    return;
  }
  json::Writer writer;
  writer.begin_array();
  for (const auto& letter : letters) {
    writer.begin_object()
        .key("queue")
        .string(letter.queue.str())
        .key("eventId")
        .string(letter.id.str())
        .key("type")
        .string(letter.routing_key)
        .key("attempts")
        .integer(letter.attempts)
        .key("reason")
        .string(letter.reason)
        .key("parkedAtMs")
        .integer(letter.parked_at.time_since_epoch().count())
        .key("body")
        .string(letter.body)
        .end_object();
  }
  invocation.out << writer.end_array().take() << '\n';
}

int list_dead(const Invocation& invocation) {
  const auto limit = limit_from(invocation);
  if (!limit) return report(invocation, limit.error());
  auto wanted = queues();
  if (!invocation.arguments.empty()) {
    const auto queue = queue_from(invocation.arguments.front());
    if (!queue) return report(invocation, queue.error());
    wanted = {*queue};
  }
  return with_plugins(invocation, {DeadLetters::kServiceName}, [&](host::Host& host) -> int {
    std::vector<DeadLetter> all;
    for (const auto& queue : wanted) {
      auto letters = host.service<DeadLetters>().list(queue, *limit);
      if (!letters) return report(invocation, letters.error());
      all.insert(all.end(), std::make_move_iterator(letters->begin()),
                 std::make_move_iterator(letters->end()));
    }
    print(invocation, all);
    return host::kExitOk;
  });
}

// A parked event may have had its effect after all, through a second delivery: then there is nothing
// left to do for it.
Result<void> check_not_consumed(host::Host& host, const EventId& event) {
  const auto consumed = host.service<StockBooks>().consumed(event);
  if (!consumed) return consumed.error();
  if (*consumed) {
    return Error{ErrorCode::Conflict, "event " + host::quoted(event.str()) +
                                          " had its effect already; next step: penstock dead drop"};
  }
  return {};
}

int replay_dead(const Invocation& invocation) {
  const auto queue = queue_from(invocation.arguments[0]);
  if (!queue) return report(invocation, queue.error());
  const EventId event(invocation.arguments[1]);
  return with_plugins(
      invocation, {DeadLetters::kServiceName, StockBooks::kServiceName}, [&](host::Host& host) -> int {
        if (const auto fresh = check_not_consumed(host, event); !fresh)
          return report(invocation, fresh.error());
        const auto replayed = host.service<DeadLetters>().replay(*queue, event);
        if (!replayed) return report(invocation, replayed.error());
        if (*replayed == ReplayOutcome::NotDead) {
          return report(
              invocation,
              Error{ErrorCode::NotFound, "event " + host::quoted(event.str()) + " is not parked in " +
                                             queue->str() + ": unknown, dropped, or being replayed already"});
        }
        if (invocation.json)
          invocation.out << "{\"replayed\":" << json::quote(event.str()) << "}\n";
        else
          invocation.out << event.str() << " is back in " << queue->str() << '\n';
        return host::kExitOk;
      });
}

int drop_dead(const Invocation& invocation) {
  const auto queue = queue_from(invocation.arguments[0]);
  if (!queue) return report(invocation, queue.error());
  const EventId event(invocation.arguments[1]);
  if (!invocation.has("--yes")) {
    return report(invocation, Error{ErrorCode::InvalidArgument,
                                    "dropping cannot be undone; next step: the same command with --yes"});
  }
  return with_plugins(invocation, {DeadLetters::kServiceName}, [&](host::Host& host) -> int {
    const auto dropped = host.service<DeadLetters>().drop(*queue, event);
    if (!dropped) return report(invocation, dropped.error());
    if (!*dropped) {
      return report(invocation, Error{ErrorCode::NotFound, "event " + host::quoted(event.str()) +
                                                               " is not parked in " + queue->str()});
    }
    if (invocation.json)
      invocation.out << "{\"dropped\":" << json::quote(event.str()) << "}\n";
    else
      invocation.out << event.str() << " is gone from " << queue->str() << '\n';
    return host::kExitOk;
  });
}

constexpr OptionSpec kListOptions[] = {{"--limit", "N", "at most N per queue, oldest first (default 100)"}};
constexpr OptionSpec kDropOptions[] = {{"--yes", "", "confirm: a dropped message is gone for good"}};

constexpr Command kCommands[] = {
    {"dead list", "[QUEUE]", 0, 1, kListOptions, "list parked messages and why they were parked",
     "Messages that could not be handled within their attempts, of one queue or of all.", &list_dead},
    {"dead replay",
     "QUEUE EVENT",
     2,
     2,
     {},
     "put a parked message back into its queue",
     "Its attempts count from 1 again. Refused when the event had its effect already, and when it is not "
     "parked\n"
     "(of two replays at once, one is refused). Exit status 1 when refused.",
     &replay_dead},
    {"dead drop", "QUEUE EVENT", 2, 2, kDropOptions, "delete a parked message for good",
     "Needs --yes. Exit status 1 when there is no such parked message.", &drop_dead},
};

}  // namespace

std::span<const Command> dead_commands() {
  return kCommands;
}

}  // namespace penstock::cli
