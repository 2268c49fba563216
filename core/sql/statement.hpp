// Parameters into and columns out of a statement, as plain values.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::sql {

class Parameter {
 public:
  template <std::integral N>
  Parameter(N value) : value_(static_cast<std::int64_t>(value)) {}
  Parameter(std::string value) : value_(std::move(value)) {}
  Parameter(std::string_view value) : value_(std::string(value)) {}
  Parameter(const char* value) : value_(std::string(value)) {}

  std::variant<std::int64_t, std::string>& value() { return value_; }

 private:
  std::variant<std::int64_t, std::string> value_;
};

// One result column of all rows. A NULL in a column that is not optional reads as 0 or "".
using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;
using OptionalIntegers = std::vector<std::optional<std::int64_t>>;
using OptionalTexts = std::vector<std::optional<std::string>>;
using Column = std::variant<Integers, Texts, OptionalIntegers, OptionalTexts>;

template <class T>
concept ColumnType = std::same_as<T, std::int64_t> || std::same_as<T, std::string> ||
    std::same_as<T, std::optional<std::int64_t>> || std::same_as<T, std::optional<std::string>>;

// Columns to rows; moves the values out.
template <ColumnType... Types, std::size_t... Index>
std::vector<std::tuple<Types...>> zip(std::span<Column> columns, std::index_sequence<Index...>) {
  const std::size_t count = std::visit([](const auto& values) { return values.size(); }, columns[0]);
  std::vector<std::tuple<Types...>> rows;
  rows.reserve(count);
  for (std::size_t row = 0; row < count; ++row) {
    rows.emplace_back(std::move(std::get<std::vector<Types>>(columns[Index])[row])...);
  }
  return rows;
}

}  // namespace penstock::sql
