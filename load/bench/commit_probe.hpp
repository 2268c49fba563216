// What one durable commit costs on a disk: the unit in which the benchmark measures an order.
#pragma once

#include "load/latency.hpp"

#include <filesystem>

namespace penstock::load {

// Commits one small row at a time to a database of its own in `directory`, with the settings that the
// embedded tier uses (WAL, synchronous=FULL). Throws std::runtime_error.
Latency measure_commits(const std::filesystem::path& directory, int commits);

}  // namespace penstock::load
