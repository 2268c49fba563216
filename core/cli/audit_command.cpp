#include "cli/audit_report.hpp"
#include "cli/operator_client.hpp"
#include "cli/plugin_session.hpp"

#include <chrono>
#include <ostream>
#include <thread>

namespace penstock::cli {
namespace {

// Work in flight makes the gate run ahead of the books; a difference counts once it has lasted.
constexpr int kGateTries = 5;
constexpr auto kBetweenTries = std::chrono::milliseconds(300);
constexpr Milliseconds kGateLimit{2'000};

Result<std::vector<GateFigures>> ask_gate(const OperatorAddress& address) {
  const auto answer = ask_operator(address, "/admin/gate", kGateLimit);
  if (!answer) return answer.error();
  if (answer->status != 200) {
    return Error{ErrorCode::NotLoaded, "operator listener " + address.text() + ": the gate answered " +
                                           std::to_string(answer->status)};
  }
  return parse_gate(answer->body);
}

Result<AuditReport> audit_once(orders::StockBooks& stock_books, const OperatorAddress& address) {
  const auto gate = ask_gate(address);
  auto books = stock_books.books();
  if (!books) return books.error();
  AuditReport report;
  report.books = std::move(*books);
  if (!gate) {
    report.gate_note = "not compared: " + gate.error().message;
    return report;
  }
  auto differences = compare(report.books, *gate);
  report.books.differences.insert(report.books.differences.end(),
                                  std::make_move_iterator(differences.begin()),
                                  std::make_move_iterator(differences.end()));
  report.gate = *gate;
  return report;
}

Result<AuditReport> audit(orders::StockBooks& stock_books, const OperatorAddress& address) {
  auto report = audit_once(stock_books, address);
  for (int i = 1; i < kGateTries && report.ok() && !report->balanced() && report->gate; ++i) {
    std::this_thread::sleep_for(kBetweenTries);
    report = audit_once(stock_books, address);
  }
  return report;
}

int run_audit(const Invocation& invocation) {
  const auto checked = host::check_deployment(invocation.sources, invocation.installation);
  if (!checked.deployment) return report(invocation, checked.problems);
  const auto address = operator_address(checked.deployment->config);
  return with_plugins(invocation, {orders::StockBooks::kServiceName}, [&](host::Host& host) -> int {
    const auto found = audit(host.service<orders::StockBooks>(), address);
    if (!found) return report(invocation, found.error());
    invocation.out << (invocation.json ? to_json(*found) : to_text(*found));
    return found->balanced() ? host::kExitOk : host::kExitNo;
  });
}

constexpr Command kCommands[] = {
    {"audit",
     "",
     0,
     0,
     {},
     "hold the books against the rows and the gate; exit 0 only if they balance",
     "For every product: initial + adjusted = free + held + locked + sold, each counter against the sum of "
     "its\n"
     "rows, each order against its events and locks. Where a server answers on the operator listener, the\n"
     "gate's copy is compared too (a difference counts when it lasts over a second, since work is in "
     "flight).\n"
     "The last line is `books balanced` or `books DO NOT balance: ...`. Reads only; safe while serving.\n"
     "Exit status: 0 balanced, 1 not balanced, 2 configuration, 3 the database is away.",
     &run_audit},
};

}  // namespace

std::span<const Command> audit_commands() {
  return kCommands;
}

}  // namespace penstock::cli
