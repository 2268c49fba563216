// Strict JSON (RFC 8259) for bodies that come from outside.
//
// Refused, beyond what the grammar refuses: duplicate keys in one object, U+0000 in any string, depth
// over kMaxDepth, numbers that are not finite. Integers keep every digit (64 bits); a number written
// with a fraction or an exponent is Real and never passes for an integer.
// Thread-safe: no shared state.
#pragma once

#include "penstock/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::json {

inline constexpr int kMaxDepth = 16;

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;
using Object = std::vector<Member>;  // in the order written

class Value {
 public:
  // std::uint64_t only for integers above INT64_MAX.
  using Data =
      std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object>;
  Value() = default;
  explicit Value(Data data) : data_(std::move(data)) {}

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(data_); }
  const bool* as_bool() const { return std::get_if<bool>(&data_); }
  const std::int64_t* as_integer() const { return std::get_if<std::int64_t>(&data_); }
  const std::uint64_t* as_large_integer() const { return std::get_if<std::uint64_t>(&data_); }
  const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  const Array* as_array() const { return std::get_if<Array>(&data_); }
  const Object* as_object() const { return std::get_if<Object>(&data_); }
  // Null when this is no object or has no such member.
  const Value* find(std::string_view key) const;
  // What it is, for error messages: "null", "a boolean", "an integer", "a number with a fraction or
  // exponent", "a string", "an array", "an object".
  std::string_view kind() const;

 private:
  Data data_;
};

// Errors: InvalidArgument, with what is wrong and where as far as the parser knows.
Result<Value> parse(std::string_view text);

// A quoted, escaped JSON string.
std::string quote(std::string_view text);

// Builds one JSON object or array by appending; the caller keeps begin and end balanced.
class Writer {
 public:
  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);
  Writer& string(std::string_view value);
  Writer& integer(std::int64_t value);
  Writer& number(double value);
  Writer& boolean(bool value);
  Writer& null();

  // The text so far; leaves the writer empty.
  std::string take();

 private:
  void separate();
  std::string out_;
  bool need_comma_ = false;
};

}  // namespace penstock::json
