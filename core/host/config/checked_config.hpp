// CheckedConfig: every declared key with a value that fits its type. Immutable, so thread-safe.
#pragma once

#include "host/config/sources.hpp"
#include "host/plugins/manifest.hpp"

#include "penstock/config.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>

namespace penstock::host {

struct CheckedValue {
  KeyType type = KeyType::String;
  std::string text;
  std::string place;  // where it was set; "default" when nobody did
};

class CheckedConfig {
 public:
  // Appends every fault to `problems`: unknown, missing, empty, ill-typed, out of range, not allowed.
  // `selected` must have all their required keys; a key in the section of a plugin that is only
  // `installed` is checked but never required, so files can be shared between roles.
  static CheckedConfig check(const RawConfig& raw, std::span<const Manifest> selected,
                             std::span<const Manifest> installed, Problems& problems);

  // The host's own keys, by full name. An undeclared key or another type throws std::logic_error.
  std::string text(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::vector<std::string> list(std::string_view key) const;
  std::chrono::milliseconds duration(std::string_view key) const;

  // Null when there is no such key. `key` is the full name.
  const CheckedValue* find(std::string_view key) const;

  // A plugin's view: its own section by short names, and the host keys its manifest asks for. The
  // view refers to this object.
  std::unique_ptr<Config> section(const Manifest& plugin) const;

 private:
  const CheckedValue& require(std::string_view key, std::initializer_list<KeyType> types) const;

  std::map<std::string, CheckedValue, std::less<>> values_;
};

// "a, b ,c" → {"a","b","c"}; empty items are left out.
std::vector<std::string> split_list(std::string_view text);

}  // namespace penstock::host
