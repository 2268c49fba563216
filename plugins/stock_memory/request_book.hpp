// RequestBook: which order number a user's request already has.
//
// A request is known while its order is held and, after the order's end, until `remembered` later
// ones have ended: then the oldest is forgotten. The order store recognises it all the same, so the
// bound costs a repeat of an old request a trip to the database and nothing else.
//
// Thread rule: not thread-safe; its owner locks.
#pragma once

#include "penstock/orders/ids.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>

namespace penstock::stock_memory {

// The four ids of a request in one piece of text: there is one of these per order, so its size counts.
class KnownRequest {
 public:
  KnownRequest(const orders::UserId& user, const orders::RequestId& request, const orders::BodyHash& body,
               const orders::OrderNo& order_no);

  std::string_view user() const { return part(0, user_end_); }
  std::string_view request() const { return part(user_end_, request_end_); }
  std::string_view body() const { return part(request_end_, body_end_); }
  std::string_view order_no() const { return part(body_end_, text_.size()); }

 private:
  std::string_view part(std::size_t from, std::size_t to) const {
    return std::string_view(text_).substr(from, to - from);
  }

  std::string text_;
  std::uint32_t user_end_;
  std::uint32_t request_end_;
  std::uint32_t body_end_;
};

class RequestBook {
 public:
  explicit RequestBook(std::size_t remembered) : remembered_(remembered) {}

  // Effect: that many requests can be added without a pause for growing.
  void make_room(std::size_t requests) { known_.reserve(requests); }

  // Null when unknown. The pointer is valid until the request is forgotten.
  const KnownRequest* find(const orders::UserId& user, const orders::RequestId& request) const;

  // The request must not be known yet. Its order is held from now on.
  const KnownRequest& add(KnownRequest request);
  // The order has ended: the request is remembered within the bound.
  void end(const KnownRequest& request);
  // The order never came to be.
  void forget(const KnownRequest& request);

  std::size_t size() const { return known_.size(); }

 private:
  struct Key {
    std::string_view user;
    std::string_view request;
  };
  static Key key_of(const Key& key) { return key; }
  static Key key_of(const KnownRequest& known) { return {known.user(), known.request()}; }

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const auto& item) const {
      const auto key = key_of(item);
      constexpr std::hash<std::string_view> hash;
      return hash(key.user) * 0x9e3779b97f4a7c15ULL ^ hash(key.request);
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& left, const auto& right) const {
      const auto a = key_of(left);
      const auto b = key_of(right);
      return a.request == b.request && a.user == b.user;
    }
  };

  const std::size_t remembered_;
  std::unordered_set<KnownRequest, Hash, Equal> known_;
  std::deque<const KnownRequest*> ended_;  // oldest first
};

}  // namespace penstock::stock_memory
