// A plugin's own configuration section, already checked against the schema in its manifest.
//
// Keys are written without the plugin's name: the file's `outbox_publisher.max_batch` is read here
// as "max_batch". Defaults live in the manifest and nowhere else. Reading a key that the manifest
// does not declare, or with another type, is a defect and throws std::logic_error.
// Thread-safe; never blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

class Config {
 public:
  virtual ~Config() = default;
  virtual std::string text(std::string_view key) const = 0;      // "string", "choice", "path", "secret"
  virtual std::int64_t integer(std::string_view key) const = 0;  // "integer"
  virtual bool flag(std::string_view key) const = 0;             // "boolean"
  virtual std::vector<std::string> list(std::string_view key) const = 0;  // "list", comma separated
  // "integer" keys whose name ends in _ms or _seconds.
  virtual std::chrono::milliseconds duration(std::string_view key) const = 0;
};

}  // namespace penstock
