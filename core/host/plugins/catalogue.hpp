// Catalogue: the plugins of one folder, known by their manifests alone. No library is opened here.
#pragma once

#include "host/plugins/manifest.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::host {

struct InstalledPlugin {
  Manifest manifest;
  std::filesystem::path manifest_file;
  std::filesystem::path library;  // NAME.so beside NAME.json
  Problems problems;              // empty: it may be loaded

  // The manifest's name or, when that could not be read, the file's.
  std::string name() const;
};

struct Catalogue {
  std::filesystem::path folder;
  std::vector<InstalledPlugin> plugins;  // by file name
  Problems problems;                     // with the folder itself

  // Null when there is none. Of several with one name, the first.
  const InstalledPlugin* find(std::string_view name) const;
  std::vector<std::string> names() const;
  // Names of the healthy plugins that provide this service.
  std::vector<std::string> providers_of(std::string_view service) const;
};

// Reads every *.json in the folder. A faulty plugin is in the catalogue with its problems: it stops
// only those who select it.
Catalogue read_catalogue(const std::filesystem::path& folder);

}  // namespace penstock::host
