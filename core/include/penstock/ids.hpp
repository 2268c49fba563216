// Strong string types, so that two neighbouring parameters cannot be swapped unnoticed.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace penstock {

template <class Tag>
class Id {
 public:
  Id() = default;
  explicit Id(std::string text) : text_(std::move(text)) {}
  explicit Id(std::string_view text) : text_(text) {}
  explicit Id(const char* text) : text_(text) {}

  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }
  auto operator<=>(const Id&) const = default;
  bool operator==(const Id&) const = default;

 private:
  std::string text_;
};

using QueueName = Id<struct QueueNameTag>;
using EventId = Id<struct EventIdTag>;        // also the message id on the wire
using LeaseToken = Id<struct LeaseTokenTag>;  // proves that a mark comes from the current lease

}  // namespace penstock

template <class Tag>
struct std::hash<penstock::Id<Tag>> {
  std::size_t operator()(const penstock::Id<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.str());
  }
};
