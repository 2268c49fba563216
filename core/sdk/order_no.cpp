#include "penstock/orders/order_no.hpp"

#include <algorithm>

namespace penstock::orders {
namespace {

constexpr std::string_view kCrockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

// Writes the low `digits * 5` bits of `value`, most significant digit first.
void append_base32(std::string& out, std::uint64_t value, int digits) {
  for (int shift = (digits - 1) * 5; shift >= 0; shift -= 5) out += kCrockford[(value >> shift) & 31];
}

}  // namespace

OrderNo OrderNoGenerator::next() {
  std::int64_t ms = clock_.now().time_since_epoch().count();
  {
    const std::lock_guard lock(mutex_);
    last_ms_ = ms = std::max(ms, last_ms_);
  }
  std::string text;
  text.reserve(26);
  append_base32(text, static_cast<std::uint64_t>(ms), 10);
  append_base32(text, random_.next(), 8);
  append_base32(text, random_.next(), 8);
  return OrderNo(std::move(text));
}

}  // namespace penstock::orders
