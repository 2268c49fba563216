// Looks at a shared library as a file, before the loader maps it: mapping a truncated one can kill
// the process with SIGBUS.
#pragma once

#include "host/problem.hpp"

#include <filesystem>

namespace penstock::host {

// Missing, unreadable, no shared library of this machine, or shorter than its own headers say.
Problems check_library_file(const std::filesystem::path& path);

}  // namespace penstock::host
