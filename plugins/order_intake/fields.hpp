// Reading the members of a JSON object from outside, strictly: what is not asked for, missing, of
// another type or out of range is refused with the field's name, what was found and what is allowed.
//
// Messages never repeat raw bytes from outside: only short printable text is shown, the rest by kind.
#pragma once

#include "penstock/json.hpp"
#include "penstock/result.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::order_intake {

// Where an object stands in the body: the body itself, or one element of an array in it.
struct Place {
  std::string_view array;  // empty: the body itself
  std::size_t index = 0;

  std::string of(std::string_view field) const;  // "items[1].quantity"
  std::string self() const;                      // "items[1]", "the body"
};

// The allowed name that is written most like `found`.
std::string_view nearest_name(std::string_view found, std::initializer_list<std::string_view> allowed);

class Fields {
 public:
  // Errors of everything here: InvalidArgument, ready to be shown to the client.
  static Result<Fields> of(const json::Value& value, Place place,
                           std::initializer_list<std::string_view> allowed);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string at(std::string_view name) const { return place_.of(name); }
  const json::Value* find(std::string_view name) const;

  // A string that is a valid id (orders::is_valid_id).
  Result<std::string> id(std::string_view name) const;
  // The same, or a whole number that keeps every one of its digits.
  Result<std::string> id_or_number(std::string_view name) const;
  Result<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max) const;
  // Three capital letters (ISO 4217).
  Result<std::string> currency(std::string_view name) const;
  // An array of `min` to `max` elements.
  Result<const json::Array*> array(std::string_view name, std::size_t min, std::size_t max) const;

  Error refused(std::string_view name, std::string_view allowed) const;

 private:
  Fields(const json::Object& object, Place place) : object_(&object), place_(place) {}

  const json::Object* object_;
  Place place_;
};

}  // namespace penstock::order_intake
