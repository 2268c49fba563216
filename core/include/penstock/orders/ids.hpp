// The identifiers of the order domain. All are strings on the wire and in the database.
#pragma once

#include "penstock/ids.hpp"

namespace penstock::orders {

using OrderNo = Id<struct OrderNoTag>;
using Sku = Id<struct SkuTag>;  // the API's productId
using WarehouseId = Id<struct WarehouseTag>;
using UserId = Id<struct UserTag>;
using RequestId = Id<struct RequestTag>;  // the client's idempotency key, unique per user
using BodyHash = Id<struct BodyHashTag>;  // of the request's meaning: same key, other hash = KEY_REUSED
using PaymentNo = Id<struct PaymentTag>;  // the payment provider's number, unique per provider

// What ids from outside may look like: 1 to 64 of A-Z a-z 0-9 . _ - : so they can be logged, put into
// a path or a key without escaping.
constexpr bool is_valid_id(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  for (const char c : text) {
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!letter && c != '.' && c != '_' && c != '-' && c != ':') return false;
  }
  return true;
}

}  // namespace penstock::orders
