// The machine's clocks and randomness.
#pragma once

#include "penstock/clock.hpp"

#include <array>
#include <cstddef>
#include <mutex>

namespace penstock::host {

class SystemClock : public Clock {
 public:
  TimePoint now() const override {
    return std::chrono::floor<Milliseconds>(std::chrono::system_clock::now());
  }
  Deadline steady_now() const override { return std::chrono::steady_clock::now(); }
};

// The kernel's generator, fetched in blocks.
class SystemRandom : public Random {
 public:
  std::uint64_t next() override;

 private:
  std::mutex mutex_;
  std::array<std::uint64_t, 128> block_{};
  std::size_t used_ = block_.size();
};

}  // namespace penstock::host
