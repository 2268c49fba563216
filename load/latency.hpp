// A histogram of durations that is cheap to fill: 64 steps per doubling, so a quantile is read within
// 1.6 %. For one thread; merge what several threads collected.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace penstock::load {

using Nanoseconds = std::chrono::nanoseconds;

class Latency {
 public:
  void add(Nanoseconds duration);
  void merge(const Latency& other);
  std::uint64_t count() const { return count_; }
  // The duration that the share `quantile` (0..1) of all stayed within; 0 when there are none.
  Nanoseconds at(double quantile) const;

 private:
  static constexpr int kSteps = 64;
  static constexpr int kDoublings = 36;  // from 64 ns to more than an hour
  std::array<std::uint64_t, kSteps * kDoublings> steps_{};
  std::uint64_t count_ = 0;
};

inline double milliseconds(Nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace penstock::load
