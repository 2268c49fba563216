// How to open a database.
#pragma once

#include "penstock/clock.hpp"

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

}  // namespace penstock::sql
