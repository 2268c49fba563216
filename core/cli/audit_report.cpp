#include "cli/audit_report.hpp"

#include "penstock/json.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

namespace penstock::cli {
namespace {

using orders::BookDifference;
using orders::Books;
using orders::SkuBooks;

Error refuse_gate(const std::string& why) {
  return {ErrorCode::InvalidArgument, "the gate's figures cannot be read: " + why};
}

Result<GateFigures> parse_sku(const json::Value& item) {
  const auto* sku = item.find("productId");
  const auto* free = item.find("free");
  const auto* held = item.find("held");
  if (!sku || !sku->as_string() || !free || !free->as_integer() || !held || !held->as_integer()) {
    return refuse_gate("each entry needs productId, free and held");
  }
  return GateFigures{orders::Sku(*sku->as_string()), *free->as_integer(), *held->as_integer()};
}

void add_differences(const SkuBooks& books, const GateFigures& gate,
                     std::vector<BookDifference>& differences) {
  const auto report = [&](const char* kind, std::int64_t found, std::int64_t needed) {
    if (found == needed) return;
    differences.push_back(
        {kind, books.sku.str(),
         "the gate says " + std::to_string(found) + ", the books say " + std::to_string(needed)});
  };
  report("gate_free", gate.free, books.free());
  report("gate_held", gate.held, books.held + books.locked);
}

const GateFigures* find(const std::vector<GateFigures>& gate, const orders::Sku& sku) {
  const auto found =
      std::find_if(gate.begin(), gate.end(), [&](const auto& figures) { return figures.sku == sku; });
  return found == gate.end() ? nullptr : &*found;
}

class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::ostringstream out;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        out << (i == 0 ? "" : "  ") << std::setw(static_cast<int>(widths[i]))
            << (i == 0 ? std::left : std::right) << row[i];
      }
      out << '\n';
    }
    return out.str();
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string sku_table(const AuditReport& report) {
  Table table({"product", "initial", "adjusted", "=", "free", "held", "locked", "sold", "imbalance",
               "gate free", "gate held"});
  for (const auto& sku : report.books.skus) {
    const auto* gate = report.gate ? find(*report.gate, sku.sku) : nullptr;
    table.add({sku.sku.str(), std::to_string(sku.initial), std::to_string(sku.adjustments), "=",
               std::to_string(sku.free()), std::to_string(sku.held), std::to_string(sku.locked),
               std::to_string(sku.sold), std::to_string(sku.imbalance()),
               gate ? std::to_string(gate->free) : "-", gate ? std::to_string(gate->held) : "-"});
  }
  return table.text();
}

std::string order_line(const Books& books) {
  std::string line = "orders:";
  for (const auto& [status, count] : books.orders)
    line += " " + std::string(to_string(status)) + " " + std::to_string(count) + ",";
  line.back() = '\n';
  return line;
}

}  // namespace

Result<std::vector<GateFigures>> parse_gate(std::string_view body) {
  const auto parsed = json::parse(body);
  if (!parsed) return refuse_gate(parsed.error().message);
  const auto* skus = parsed->find("skus");
  if (!skus || !skus->as_array()) return refuse_gate("no array \"skus\"");
  std::vector<GateFigures> gate;
  for (const auto& item : *skus->as_array()) {
    auto figures = parse_sku(item);
    if (!figures) return figures.error();
    gate.push_back(std::move(*figures));
  }
  return gate;
}

std::vector<BookDifference> compare(const Books& books, const std::vector<GateFigures>& gate) {
  std::vector<BookDifference> differences;
  for (const auto& sku : books.skus) {
    if (const auto* figures = find(gate, sku.sku))
      add_differences(sku, *figures, differences);
    else
      differences.push_back({"gate_missing", sku.sku.str(), "the gate does not know this product"});
  }
  for (const auto& figures : gate) {
    const bool known = std::any_of(books.skus.begin(), books.skus.end(),
                                   [&](const SkuBooks& sku) { return sku.sku == figures.sku; });
    if (!known)
      differences.push_back(
          {"gate_unknown", figures.sku.str(), "the gate sells a product that no books know"});
  }
  return differences;
}

std::string to_text(const AuditReport& report) {
  std::ostringstream out;
  out << sku_table(report) << order_line(report.books);
  out << "outbox: " << report.books.outbox_pending << " pending, " << report.books.outbox_dead
      << " dead; abandoned numbers: " << report.books.abandoned << '\n';
  if (!report.gate_note.empty()) out << "gate: " << report.gate_note << '\n';
  for (const auto& difference : report.books.differences) {
    out << "difference: " << difference.kind << ' ' << difference.subject << ": " << difference.detail
        << '\n';
  }
  if (report.balanced()) {
    out << "books balanced\n";
  } else {
    const auto& first = report.books.differences.front();
    out << "books DO NOT balance: " << report.books.differences.size() << " difference"
        << (report.books.differences.size() == 1 ? "" : "s") << ", the first is " << first.kind << ' '
        << first.subject << '\n';
  }
  return out.str();
}

std::string to_json(const AuditReport& report) {
  json::Writer writer;
  writer.begin_object().key("balanced").boolean(report.balanced()).key("skus").begin_array();
  for (const auto& sku : report.books.skus) {
    writer.begin_object()
        .key("productId")
        .string(sku.sku.str())
        .key("initial")
        .integer(sku.initial)
        .key("adjustments")
        .integer(sku.adjustments)
        .key("free")
        .integer(sku.free())
        .key("held")
        .integer(sku.held)
        .key("locked")
        .integer(sku.locked)
        .key("sold")
        .integer(sku.sold)
        .key("imbalance")
        .integer(sku.imbalance());
    if (const auto* gate = report.gate ? find(*report.gate, sku.sku) : nullptr) {
      writer.key("gateFree").integer(gate->free).key("gateHeld").integer(gate->held);
    }
    writer.end_object();
  }
  writer.end_array().key("orders").begin_object();
  for (const auto& [status, count] : report.books.orders) writer.key(to_string(status)).integer(count);
  writer.end_object()
      .key("abandoned")
      .integer(report.books.abandoned)
      .key("outbox")
      .begin_object()
      .key("pending")
      .integer(report.books.outbox_pending)
      .key("dead")
      .integer(report.books.outbox_dead)
      .end_object();
  writer.key("gateChecked").boolean(report.gate.has_value());
  if (!report.gate_note.empty()) writer.key("gateNote").string(report.gate_note);
  writer.key("differences").begin_array();
  for (const auto& difference : report.books.differences) {
    writer.begin_object()
        .key("kind")
        .string(difference.kind)
        .key("subject")
        .string(difference.subject)
        .key("detail")
        .string(difference.detail)
        .end_object();
  }
  return writer.end_array().end_object().take() + "\n";
}

}  // namespace penstock::cli
