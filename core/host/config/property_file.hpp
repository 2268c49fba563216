// One properties file, read by Poco, with the line each key stands on.
#pragma once

#include "host/problem.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace penstock::host {

struct Property {
  std::string key;
  std::string value;
  int line = 0;
};

inline constexpr std::size_t kMaxPropertyFileBytes = 1024 * 1024;

// Appends what is wrong with the file, line by line; the good lines are returned all the same.
std::vector<Property> read_property_file(const std::filesystem::path& path, Problems& problems);

// The whole file, or a problem: missing, a folder, unreadable, larger than `max_bytes`.
std::string read_text_file(const std::filesystem::path& path, std::size_t max_bytes, const std::string& what,
                           Problems& problems);

}  // namespace penstock::host
