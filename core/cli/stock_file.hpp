// A stock file: CSV (RFC 4180) with a header line, one row per product and warehouse.
//
//   product, name, quantity, price_minor, currency      required
//   warehouse             default MAIN
//   starts_at, ends_at    2026-12-01T10:00:00Z; empty: no bound
//   limit_per_user        units per user over all orders; empty: none
//   max_per_order         units per order; empty: none
//   pay_within_seconds    default 600
#pragma once

#include "penstock/orders/stock_books.hpp"

#include <filesystem>
#include <string_view>
#include <vector>

namespace penstock::cli {

struct StockFile {
  std::vector<orders::StockRow> rows;
  std::vector<orders::StockRowProblem> problems;  // each with its line; a row with a problem is left out
};

// Checks every field of every row and reports all problems at once.
StockFile parse_stock_file(std::string_view text);
// Errors: InvalidArgument when the file cannot be read.
Result<StockFile> read_stock_file(const std::filesystem::path& path);

}  // namespace penstock::cli
