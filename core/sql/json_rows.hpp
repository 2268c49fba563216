// JsonRows: builds the one JSON parameter of a batch, an array of arrays, for Dialect::rows().
#pragma once

#include "penstock/ids.hpp"
#include "penstock/json.hpp"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::sql {

class JsonRows {
 public:
  JsonRows() { writer_.begin_array(); }

  // One row; values are text, integers, ids, or optional ones of these (none is NULL).
  template <class... Values>
  void add(const Values&... values) {
    writer_.begin_array();
    (put(values), ...);
    writer_.end_array();
    ++size_;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The text; nothing can be added after it.
  std::string take() {
    writer_.end_array();
    return writer_.take();
  }

 private:
  void put(std::string_view value) { writer_.string(value); }
  template <std::integral N>
  void put(N value) {
    writer_.integer(static_cast<std::int64_t>(value));
  }
  template <class Tag>
  void put(const Id<Tag>& id) {
    writer_.string(id.str());
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value)
      put(*value);
    else
      writer_.null();
  }

  json::Writer writer_;
  std::size_t size_ = 0;
};

}  // namespace penstock::sql
