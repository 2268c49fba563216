#include "order_intake/fields.hpp"

#include "penstock/orders/ids.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace penstock::order_intake {
namespace {

constexpr std::size_t kMaxShown = 64;
constexpr std::string_view kIdAllowed = "a string of 1 to 64 characters from A-Z a-z 0-9 . _ - :";

bool is_showable(std::string_view text) {
  return text.size() <= kMaxShown &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

std::string shown(std::string_view text) {
  return is_showable(text) ? "\"" + std::string(text) + "\"" : std::string("a long or unprintable string");
}

std::string shown(const json::Value* value) {
  if (!value) return "nothing";
  if (const auto* integer = value->as_integer()) return std::to_string(*integer);
  if (const auto* integer = value->as_large_integer()) return std::to_string(*integer);
  if (const auto* flag = value->as_bool()) return *flag ? "true" : "false";
  if (const auto* text = value->as_string()) return shown(*text);
  return std::string(value->kind());
}

// Levenshtein's distance: how many letters must be changed, added or dropped.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const auto replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

Error unknown_field(const std::string& name, Place place, std::initializer_list<std::string_view> allowed) {
  // A hostile name must not buy a long comparison.
  const auto compared = std::string_view(name).substr(0, kMaxShown);
  return {ErrorCode::InvalidArgument, place.self() + ": found the unknown field " + shown(name) +
                                          ", the nearest allowed is \"" +
                                          std::string(nearest_name(compared, allowed)) + "\""};
}

}  // namespace

std::string Place::of(std::string_view field) const {
  return array.empty() ? std::string(field) : self() + "." + std::string(field);
}

std::string Place::self() const {
  return array.empty() ? "the body" : std::string(array) + "[" + std::to_string(index) + "]";
}

std::string_view nearest_name(std::string_view found, std::initializer_list<std::string_view> allowed) {
  return *std::min_element(allowed.begin(), allowed.end(), [&](std::string_view a, std::string_view b) {
    return distance(found, a) < distance(found, b);
  });
}

Result<Fields> Fields::of(const json::Value& value, Place place,
                          std::initializer_list<std::string_view> allowed) {
  const auto* object = value.as_object();
  if (!object) {
    return Error{ErrorCode::InvalidArgument,
                 place.self() + ": found " + shown(&value) + ", allowed an object"};
  }
  for (const auto& [name, member] : *object) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      return unknown_field(name, place, allowed);
    }
  }
  return Fields(*object, place);
}

const json::Value* Fields::find(std::string_view name) const {
  for (const auto& [key, value] : *object_) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<std::string> Fields::id(std::string_view name) const {
  const auto* value = find(name);
  const auto* text = value ? value->as_string() : nullptr;
  if (!text || !orders::is_valid_id(*text)) return refused(name, kIdAllowed);
  return *text;
}

Result<std::string> Fields::id_or_number(std::string_view name) const {
  if (const auto* value = find(name)) {
    const auto* integer = value->as_integer();
    if (integer && *integer >= 0) return std::to_string(*integer);
    if (const auto* large = value->as_large_integer()) return std::to_string(*large);
    if (integer) return refused(name, std::string(kIdAllowed) + ", or a whole number from 0 to 2^64-1");
  }
  return id(name);
}

Result<std::int64_t> Fields::integer(std::string_view name, std::int64_t min, std::int64_t max) const {
  const auto* value = find(name);
  const auto* integer = value ? value->as_integer() : nullptr;
  if (!integer || *integer < min || *integer > max) {
    return refused(name, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return *integer;
}

Result<std::string> Fields::currency(std::string_view name) const {
  const auto* value = find(name);
  const auto* text = value ? value->as_string() : nullptr;
  const auto capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (!text || text->size() != 3 || !std::all_of(text->begin(), text->end(), capital)) {
    return refused(name, "a currency code of three capital letters");
  }
  return *text;
}

Result<const json::Array*> Fields::array(std::string_view name, std::size_t min, std::size_t max) const {
  const auto* value = find(name);
  const auto* array = value ? value->as_array() : nullptr;
  const auto allowed = [&] {
    return "an array of " + std::to_string(min) + " to " + std::to_string(max) + " elements";
  };
  if (!array) return refused(name, allowed());
  if (array->size() < min || array->size() > max) {
    return Error{ErrorCode::InvalidArgument,
                 at(name) + ": found " + std::to_string(array->size()) + " elements, allowed " + allowed()};
  }
  return array;
}

Error Fields::refused(std::string_view name, std::string_view allowed) const {
  return {ErrorCode::InvalidArgument,
          at(name) + ": found " + shown(find(name)) + ", allowed " + std::string(allowed)};
}

}  // namespace penstock::order_intake
