// How to open a database.
#pragma once

#include "penstock/context.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

namespace penstock::sql {

struct Settings {
  std::string dialect = "sqlite";
  std::filesystem::path path;        // sqlite: the database file; its folder must exist
  std::size_t readers = 4;           // sessions for reading at the same time
  Milliseconds session_wait{5'000};  // for a free session, in the order of asking
  Milliseconds busy_wait{3'000};     // for a lock that another process holds
  int max_reruns = 3;                // of a unit of work that met a lock or lost a race
};

// From a plugin's configuration keys path (relative to data.dir), readers, session_wait_ms, busy_wait_ms
// and max_reruns. The dialect is the plugin's to set.
Settings settings_from(Context& context);

}  // namespace penstock::sql
