#include "cli/stock_file.hpp"

#include "host/problem.hpp"

#include <Poco/DateTime.h>
#include <Poco/DateTimeFormatter.h>
#include <Poco/DateTimeParser.h>
#include <csv.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

namespace penstock::cli {
namespace {

using orders::StockRow;
using orders::StockRowProblem;

struct Record {
  int line = 0;
  std::vector<std::string> fields;
};

// Splits the text into records; libcsv knows the quoting, we count the lines.
class RecordReader {
 public:
  explicit RecordReader(std::vector<StockRowProblem>& problems) : problems_(problems) {
    csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI);
  }
  ~RecordReader() { csv_free(&parser_); }
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  std::vector<Record> read(std::string_view text) {
    // Line by line, so that a record's line number is known even when fields contain line breaks.
    while (!text.empty()) {
      ++line_;
      const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
      if (csv_parse(&parser_, text.data(), end, &on_field, &on_record, this) != end) return refuse();
      text.remove_prefix(end);
    }
    if (csv_fini(&parser_, &on_field, &on_record, this) != 0) return refuse();
    return std::move(records_);
  }

 private:
  static void on_field(void* bytes, std::size_t size, void* self) {
    auto& reader = *static_cast<RecordReader*>(self);
    if (reader.current_.fields.empty()) reader.current_.line = reader.line_;
    reader.current_.fields.emplace_back(static_cast<const char*>(bytes), size);
  }
  static void on_record(int, void* self) {
    auto& reader = *static_cast<RecordReader*>(self);
    reader.records_.push_back(std::exchange(reader.current_, {}));
  }
  std::vector<Record> refuse() {
    problems_.push_back({line_, std::string("not CSV: ") + csv_strerror(csv_error(&parser_)) +
                                    "; quote fields that hold quotes, commas or line breaks"});
    return {};
  }

  std::vector<StockRowProblem>& problems_;
  csv_parser parser_{};
  int line_ = 0;
  Record current_;
  std::vector<Record> records_;
};

constexpr std::string_view kRequiredColumns[] = {"product", "name", "quantity", "price_minor", "currency"};
constexpr std::string_view kOptionalColumns[] = {"warehouse",      "starts_at",     "ends_at",
                                                 "limit_per_user", "max_per_order", "pay_within_seconds"};
constexpr std::int64_t kMaxUnits = 1'000'000'000;
constexpr std::int64_t kMaxPriceMinor = 1'000'000'000'000;
constexpr std::int64_t kMaxPaySeconds = 30 * 24 * 3600;

template <std::size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Reads the fields of one record by column name and collects what is wrong with them.
class RowReader {
 public:
  RowReader(const std::map<std::string, std::size_t, std::less<>>& columns, const Record& record,
            std::vector<StockRowProblem>& problems)
      : columns_(columns), record_(record), problems_(problems) {}

  std::string text(std::string_view column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? "" : record_.fields[found->second];
  }

  std::string id(std::string_view column, std::string_view fallback) {
    auto value = text(column);
    if (value.empty() && !fallback.empty()) return std::string(fallback);
    if (!orders::is_valid_id(value)) refuse(column, value, "1 to 64 of A-Z a-z 0-9 . _ - :");
    return value;
  }

  std::string name(std::string_view column) {
    auto value = text(column);
    const bool printable = std::none_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20; });
    if (value.empty() || value.size() > 200 || !printable) {
      refuse(column, value, "1 to 200 bytes without control characters");
    }
    return value;
  }

  std::string currency(std::string_view column) {
    auto value = text(column);
    const bool letters = std::all_of(value.begin(), value.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    if (value.size() != 3 || !letters) refuse(column, value, "an ISO 4217 code such as EUR");
    return value;
  }

  std::int64_t integer(std::string_view column, std::int64_t min, std::int64_t max) {
    const auto value = text(column);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < min || number > max) {
      refuse(column, value, "an integer from " + std::to_string(min) + " to " + std::to_string(max));
    }
    return number;
  }

  std::optional<std::int64_t> optional_integer(std::string_view column, std::int64_t min, std::int64_t max) {
    if (text(column).empty()) return std::nullopt;
    return integer(column, min, max);
  }

  std::optional<TimePoint> optional_time(std::string_view column) {
    const auto value = text(column);
    if (value.empty()) return std::nullopt;
    static const std::string kFormat = "%Y-%m-%dT%H:%M:%SZ";
    Poco::DateTime time;
    int zone = 0;
    // Poco's parser is lenient; what it read must print as what was written.
    if (!Poco::DateTimeParser::tryParse(kFormat, value, time, zone) ||
        Poco::DateTimeFormatter::format(time, kFormat) != value) {
      refuse(column, value, "a time in UTC such as 2026-12-01T10:00:00Z");
      return std::nullopt;
    }
    return TimePoint(Milliseconds(time.timestamp().epochMicroseconds() / 1000));
  }

  void refuse(std::string_view column, const std::string& found, const std::string& allowed) {
    sound_ = false;
    problems_.push_back(
        {record_.line, std::string(column) + ": found " + host::quoted(found) + ", allowed " + allowed});
  }

  bool sound() const { return sound_; }

 private:
  const std::map<std::string, std::size_t, std::less<>>& columns_;
  const Record& record_;
  std::vector<StockRowProblem>& problems_;
  bool sound_ = true;
};

std::optional<StockRow> read_row(const std::map<std::string, std::size_t, std::less<>>& columns,
                                 const Record& record, std::vector<StockRowProblem>& problems) {
  if (record.fields.size() != columns.size()) {
    problems.push_back({record.line, "found " + std::to_string(record.fields.size()) + " fields, needed " +
                                         std::to_string(columns.size()) + " as in the header"});
    return std::nullopt;
  }
  RowReader reader(columns, record, problems);
  StockRow row;
  row.line = record.line;
  row.sku = orders::Sku(reader.id("product", ""));
  row.name = reader.name("name");
  row.warehouse = orders::WarehouseId(reader.id("warehouse", "MAIN"));
  row.quantity = reader.integer("quantity", 0, kMaxUnits);
  row.price_minor = reader.integer("price_minor", 0, kMaxPriceMinor);
  row.currency = reader.currency("currency");
  row.terms.starts_at = reader.optional_time("starts_at");
  row.terms.ends_at = reader.optional_time("ends_at");
  row.terms.limit_per_user = reader.optional_integer("limit_per_user", 1, kMaxUnits);
  row.terms.max_per_order = reader.optional_integer("max_per_order", 1, orders::kMaxQuantity);
  row.pay_within =
      std::chrono::seconds(reader.optional_integer("pay_within_seconds", 1, kMaxPaySeconds).value_or(600));
  if (row.terms.starts_at && row.terms.ends_at && *row.terms.ends_at <= *row.terms.starts_at) {
    reader.refuse("ends_at", reader.text("ends_at"), "a time after starts_at");
  }
  if (!reader.sound()) return std::nullopt;
  return row;
}

std::map<std::string, std::size_t, std::less<>> read_header(const Record& header,
                                                            std::vector<StockRowProblem>& problems) {
  std::map<std::string, std::size_t, std::less<>> columns;
  for (std::size_t i = 0; i < header.fields.size(); ++i) {
    const auto& name = header.fields[i];
    if (!is_one_of(name, kRequiredColumns) && !is_one_of(name, kOptionalColumns)) {
      problems.push_back(
          {header.line, "unknown column " + host::quoted(name) +
                            "; allowed: product, name, warehouse, quantity, price_minor, currency, "
                            "starts_at, ends_at, limit_per_user, max_per_order, pay_within_seconds"});
    }
    if (!columns.emplace(name, i).second) {
      problems.push_back({header.line, "the column " + host::quoted(name) + " stands twice"});
    }
  }
  for (const auto name : kRequiredColumns) {
    if (!columns.contains(name))
      problems.push_back({header.line, "the column " + std::string(name) + " is missing"});
  }
  return columns;
}

// Rows of one product may differ in warehouse and quantity only; the same warehouse twice is a slip.
void check_agreement(const std::vector<StockRow>& rows, std::vector<StockRowProblem>& problems) {
  std::map<orders::Sku, const StockRow*> first_of;
  std::map<std::pair<orders::Sku, orders::WarehouseId>, int> lines;
  for (const auto& row : rows) {
    const auto [at, is_new] = lines.emplace(std::pair(row.sku, row.warehouse), row.line);
    if (!is_new) {
      problems.push_back({row.line, "product " + row.sku.str() + " in warehouse " + row.warehouse.str() +
                                        " stands on line " + std::to_string(at->second) + " already"});
    }
    const auto& first = *first_of.emplace(row.sku, &row).first->second;
    if (first.name != row.name || first.price_minor != row.price_minor || first.currency != row.currency ||
        first.terms != row.terms || first.pay_within != row.pay_within) {
      problems.push_back({row.line, "product " + row.sku.str() + " differs from line " +
                                        std::to_string(first.line) + " in more than warehouse and quantity"});
    }
  }
}

}  // namespace

StockFile parse_stock_file(std::string_view text) {
  StockFile file;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // spreadsheets write a byte order mark
  const auto records = RecordReader(file.problems).read(text);
  if (records.empty()) {
    if (file.problems.empty())
      file.problems.push_back({1, "the file is empty; the first line names the columns"});
    return file;
  }
  const auto columns = read_header(records.front(), file.problems);
  if (!file.problems.empty()) return file;
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (auto row = read_row(columns, records[i], file.problems)) file.rows.push_back(std::move(*row));
  }
  if (records.size() == 1) file.problems.push_back({2, "the file has a header and no rows"});
  check_agreement(file.rows, file.problems);
  return file;
}

Result<StockFile> read_stock_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || std::filesystem::is_directory(path) || !(text << in.rdbuf())) {
    // An empty file has nothing to copy, which the stream reports as a failure.
    std::error_code ignored;
    if (!in || std::filesystem::file_size(path, ignored) != 0 || ignored) {
      return Error{ErrorCode::InvalidArgument,
                   path.string() + ": cannot be read; next step: check the path and its permissions"};
    }
  }
  return parse_stock_file(text.str());
}

}  // namespace penstock::cli
