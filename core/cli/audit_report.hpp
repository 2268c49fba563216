// The audit: the books of the database, the gate's copy of them where a server runs, and whether all
// of it agrees.
#pragma once

#include "penstock/orders/stock_books.hpp"
#include "penstock/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cli {

struct GateFigures {
  orders::Sku sku;
  std::int64_t free = 0;
  std::int64_t held = 0;
};

// Reads the body of GET /admin/gate. Errors: InvalidArgument.
Result<std::vector<GateFigures>> parse_gate(std::string_view body);

// Where the gate differs from the books: its free units must be the books' free, its holds the units
// that are held or locked.
std::vector<orders::BookDifference> compare(const orders::Books& books, const std::vector<GateFigures>& gate);

struct AuditReport {
  orders::Books books;  // differences of the gate are among its differences
  std::optional<std::vector<GateFigures>> gate;
  std::string gate_note;  // why there is no gate; empty when there is one

  bool balanced() const { return books.differences.empty(); }
};

// A table for people; the last line is `books balanced` or `books DO NOT balance: ...`.
std::string to_text(const AuditReport& report);
// One object with stable keys, for scripts.
std::string to_json(const AuditReport& report);

}  // namespace penstock::cli
