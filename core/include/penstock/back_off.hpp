// How long to wait before trying again: doubling, bounded, with jitter, so that many who failed
// together do not come back together.
#pragma once

#include "penstock/clock.hpp"

#include <algorithm>
#include <cstdint>

namespace penstock {

struct BackOff {
  Milliseconds first{200};
  Milliseconds max{60'000};
};

// The wait before retry number `retry`, counted from 1: between half and all of the doubled span.
inline Milliseconds wait_before(std::uint32_t retry, const BackOff& back_off, Random& random) {
  auto span = std::min(back_off.first, back_off.max);
  for (std::uint32_t i = 1; i < retry && span < back_off.max; ++i) span = std::min(span * 2, back_off.max);
  const auto half = span / 2;
  const auto jitter = random.next() % static_cast<std::uint64_t>((span - half).count() + 1);
  return half + Milliseconds(jitter);
}

}  // namespace penstock
