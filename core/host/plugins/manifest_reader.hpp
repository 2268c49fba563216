// ObjectReader: reads the members of one JSON object and reports what is missing, wrong or unknown.
#pragma once

#include "host/problem.hpp"

#include "penstock/json.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::host {

class ObjectReader {
 public:
  // `prefix` names the object in messages, e.g. "config[max_batch]."; empty for the whole document.
  // `value` and `problems` must outlive the reader.
  ObjectReader(const json::Value& value, std::string place, std::string prefix, Problems& problems);

  // Required members; a faulty one is reported and reads as empty or 0.
  std::string text(std::string_view name);
  std::string identifier(std::string_view name);  // [a-z][a-z0-9_]*, at most 64 bytes
  std::int64_t integer(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  std::vector<ObjectReader> objects(std::string_view name);

  // Members that may be left out.
  std::int64_t integer_or(std::string_view name, std::int64_t fallback);
  std::vector<std::string> texts_or_none(std::string_view name);
  const json::Value* optional(std::string_view name);

  // Reports every member that was not read.
  void refuse_others();
  void refuse(std::string_view member, std::string_view found, std::string_view needed);
  // From here on, messages call this object by its own name instead of its number.
  void name_after(const std::string& name);

 private:
  const json::Value* required(std::string_view name, std::string_view needed);

  const json::Value* value_;
  std::string place_;
  std::string prefix_;
  Problems* problems_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace penstock::host
