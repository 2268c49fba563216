// Closed loop: each connection sends its next request when the last is answered.
#pragma once

#include "load/http_loop.hpp"
#include "load/latency.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace penstock::load {

struct ClosedLoopSettings {
  Target target;
  std::size_t connections = 100;
  Milliseconds warm_up{500};  // not counted
  Milliseconds duration{3'000};
  Milliseconds limit{10'000};  // of one request
};

struct ClosedLoopResult {
  std::map<int, std::uint64_t> by_status;  // answers within the counted time; 0 = none came
  Latency latency;
  double seconds = 0;

  std::uint64_t answers(int status) const {
    const auto found = by_status.find(status);
    return found == by_status.end() ? 0 : found->second;
  }
  double per_second(int status) const { return static_cast<double>(answers(status)) / seconds; }
};

// What a connection sends as its next request. Called on the loop's thread.
using NextRequest = std::function<const std::string&(std::size_t connection)>;

// Blocks until the time is over. `on_counting` runs, on this thread, when the counted time begins and,
// with `true`, when it ends: the moment to read what both processes have used.
ClosedLoopResult run_closed_loop(const ClosedLoopSettings& settings, const NextRequest& next,
                                 const std::function<void(bool over)>& on_counting);

}  // namespace penstock::load
