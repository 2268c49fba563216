// Time, as plugins see it. Wall time is for people and stored instants; deadlines use the steady
// clock, which no operator can step. Instants that the database compares are taken from the
// database's clock, never from here.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock {

using Milliseconds = std::chrono::milliseconds;
using TimePoint = std::chrono::sys_time<std::chrono::milliseconds>;  // UTC
using Deadline = std::chrono::steady_clock::time_point;

// Thread-safe; never blocks.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  virtual Deadline steady_now() const = 0;

  Deadline deadline_in(Milliseconds span) const { return steady_now() + span; }
};

// Randomness for ids, lease tokens and back-off jitter. Thread-safe; never blocks.
// 64 unpredictable bits a call; two processes never share a sequence.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
};

}  // namespace penstock
