#include "cli/plugin_session.hpp"
#include "cli/stock_file.hpp"

#include "penstock/json.hpp"

#include <algorithm>
#include <ostream>

namespace penstock::cli {
namespace {

using orders::LoadMode;
using orders::LoadReport;
using orders::StockBooks;
using orders::StockRowProblem;

std::string load_report_json(const std::string& path, const LoadReport& report, bool dry_run) {
  json::Writer writer;
  writer.begin_object()
      .key("file")
      .string(path)
      .key("dryRun")
      .boolean(dry_run)
      .key("added")
      .integer(static_cast<std::int64_t>(report.added))
      .key("changed")
      .integer(static_cast<std::int64_t>(report.changed))
      .key("unchanged")
      .integer(static_cast<std::int64_t>(report.unchanged))
      .key("problems")
      .begin_array();
  for (const auto& problem : report.problems) {
    writer.begin_object()
        .key("line")
        .integer(problem.line)
        .key("message")
        .string(problem.message)
        .end_object();
  }
  return writer.end_array().end_object().take() + "\n";
}

int print_load(const Invocation& invocation, const std::string& path, LoadReport report) {
  const bool dry_run = invocation.has("--dry-run");
  std::stable_sort(report.problems.begin(), report.problems.end(),
                   [](const StockRowProblem& a, const StockRowProblem& b) { return a.line < b.line; });
  if (invocation.json) {
    invocation.out << load_report_json(path, report, dry_run);
  } else if (report.problems.empty()) {
    invocation.out << path << (dry_run ? ": dry run, nothing written: " : ": ") << report.added
                   << " stock rows added, " << report.changed << " products changed, " << report.unchanged
                   << " stock rows unchanged\n";
  } else {
    for (const auto& problem : report.problems)
      invocation.err << path << ":" << problem.line << ": " << problem.message << '\n';
    invocation.err << path << ": " << report.problems.size()
                   << (report.problems.size() == 1 ? " problem" : " problems") << "; nothing was written\n";
  }
  return report.problems.empty() ? host::kExitOk : host::kExitUsage;
}

int load_stock(const Invocation& invocation) {
  const auto& path = invocation.arguments.front();
  auto file = read_stock_file(path);
  if (!file) return report(invocation, file.error());
  if (!file->problems.empty()) return print_load(invocation, path, {0, 0, 0, std::move(file->problems)});
  return with_plugins(invocation, {StockBooks::kServiceName}, [&](host::Host& host) {
    const auto mode = invocation.has("--dry-run") ? LoadMode::DryRun : LoadMode::Apply;
    auto loaded = host.service<StockBooks>().load(file->rows, mode);
    return loaded ? print_load(invocation, path, std::move(*loaded)) : report(invocation, loaded.error());
  });
}

int show_stock(const Invocation& invocation) {
  return with_plugins(invocation, {StockBooks::kServiceName}, [&](host::Host& host) -> int {
    const auto books = host.service<StockBooks>().books();
    if (!books) return report(invocation, books.error());
    if (invocation.json) {
      json::Writer writer;
      writer.begin_array();
      for (const auto& sku : books->skus) {
        writer.begin_object()
            .key("productId")
            .string(sku.sku.str())
            .key("initial")
            .integer(sku.initial)
            .key("adjustments")
            .integer(sku.adjustments)
            .key("available")
            .integer(sku.available)
            .key("held")
            .integer(sku.held)
            .key("locked")
            .integer(sku.locked)
            .key("sold")
            .integer(sku.sold)
            .end_object();
      }
      invocation.out << writer.end_array().take() << '\n';
      return host::kExitOk;
    }
    if (books->skus.empty())
      invocation.out << "no stock is loaded; next step: penstock stock load FILE.csv\n";
    for (const auto& sku : books->skus) {
      invocation.out << sku.sku.str() << ": initial " << sku.initial << ", adjusted " << sku.adjustments
                     << ", free " << sku.free() << ", held " << sku.held << ", locked " << sku.locked
                     << ", sold " << sku.sold << '\n';
    }
    return host::kExitOk;
  });
}

constexpr OptionSpec kLoadOptions[] = {
    {"--dry-run", "", "check the file against itself and the books; write nothing"}};

constexpr Command kCommands[] = {
    {"stock load", "FILE.csv", 1, 1, kLoadOptions, "load products, stock and sale terms from a CSV file",
     "The first line names the columns. Required: product, name, quantity, price_minor (in cents or the "
     "like),\n"
     "currency. Optional: warehouse (default MAIN), starts_at, ends_at (2026-12-01T10:00:00Z), "
     "limit_per_user,\n"
     "max_per_order, pay_within_seconds (default 600).\n"
     "All rows are written together or, when any has a problem, none; every problem is reported with its "
     "line.\n"
     "The same file again changes nothing. New terms and prices replace the old; a loaded quantity cannot "
     "be\n"
     "changed by loading. A running server takes up new products and terms within its "
     "reconciler.interval_ms.",
     &load_stock},
    {"stock show",
     "",
     0,
     0,
     {},
     "show where every unit of every product is",
     "Units by product, from the database.",
     &show_stock},
};

}  // namespace

std::span<const Command> stock_commands() {
  return kCommands;
}

}  // namespace penstock::cli
