#include "load/latency.hpp"

#include <algorithm>
#include <bit>

namespace penstock::load {

void Latency::add(Nanoseconds duration) {
  const auto value = static_cast<std::uint64_t>(std::max<Nanoseconds::rep>(duration.count(), kSteps));
  const int doubling = std::bit_width(value) - 1 - 6;  // 64 = 2^6 steps
  const auto step = (value >> doubling) - kSteps;
  const auto index = static_cast<std::size_t>(doubling) * kSteps + step;
  ++steps_[std::min(index, steps_.size() - 1)];
  ++count_;
}

void Latency::merge(const Latency& other) {
  for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i] += other.steps_[i];
  count_ += other.count_;
}

Nanoseconds Latency::at(double quantile) const {
  if (count_ == 0) return Nanoseconds(0);
  const auto wanted = static_cast<std::uint64_t>(quantile * static_cast<double>(count_ - 1)) + 1;
  std::uint64_t seen = 0;
  std::size_t index = 0;
  while (index < steps_.size() && (seen += steps_[index]) < wanted) ++index;
  return Nanoseconds(static_cast<Nanoseconds::rep>((kSteps + index % kSteps + 1) << (index / kSteps)));
}

}  // namespace penstock::load
