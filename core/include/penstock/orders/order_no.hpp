// Order numbers: time-ordered, made without coordination, unique under clock steps.
//
// 26 characters of Crockford base32 (https://github.com/ulid/spec): 48 bits of milliseconds and 80
// random bits. Within a process the time part never runs backwards, so a clock step cannot reorder
// its numbers; across processes the random bits keep them apart.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/orders/ids.hpp"

#include <mutex>

namespace penstock::orders {

class OrderNoGenerator {
 public:
  OrderNoGenerator(Clock& clock, Random& random) : clock_(clock), random_(random) {}
  // Thread-safe; never blocks for long.
  OrderNo next();

 private:
  Clock& clock_;
  Random& random_;
  std::mutex mutex_;
  std::int64_t last_ms_ = 0;
};

}  // namespace penstock::orders
