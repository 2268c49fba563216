#include "host/config/value_check.hpp"

#include <algorithm>
#include <charconv>

namespace penstock::host {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool fits(const KeySpec& key, std::string_view text) {
  switch (key.type) {
    case KeyType::Integer: {
      const auto number = parse_integer(text);
      return number && *number >= key.min && *number <= key.max;
    }
    case KeyType::Boolean: return text == "true" || text == "false";
    case KeyType::Choice: return std::find(key.allowed.begin(), key.allowed.end(), text) != key.allowed.end();
    case KeyType::String:
    case KeyType::Path:
    case KeyType::Secret:
    case KeyType::List: return true;
  }
  return false;
}

std::string allowed_values(const KeySpec& key) {
  switch (key.type) {
    case KeyType::Integer:
      if (key.max == INT64_MAX && key.min == INT64_MIN) return "an integer";
      if (key.max == INT64_MAX) return "an integer from " + std::to_string(key.min);
      if (key.min == INT64_MIN) return "an integer up to " + std::to_string(key.max);
      return "an integer from " + std::to_string(key.min) + " to " + std::to_string(key.max);
    case KeyType::Boolean: return "true or false";
    case KeyType::Choice: return "one of " + joined(key.allowed);
    case KeyType::Path: return "a path";
    case KeyType::Secret: return "a secret, here or in the file that " + key.name + ".file names";
    case KeyType::List: return "names separated by commas";
    case KeyType::String: return "a text";
  }
  return "";
}

}  // namespace penstock::host
