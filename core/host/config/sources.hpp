// Sources: the raw configuration, layer over layer, before anybody has looked at the schema.
#pragma once

#include "host/problem.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace penstock::host {

struct ConfigSources {
  std::vector<std::filesystem::path> files;  // later wins
  std::vector<std::string> overrides;        // "key=value", over all files; later wins
};

struct RawValue {
  std::string text;   // with ${…} references expanded
  std::string place;  // "etc/embedded.properties:12" or "--set"
  std::size_t layer = 0;
  bool broken = false;  // its reference led nowhere, which is reported; the text means nothing
};

struct RawConfig {
  std::map<std::string, RawValue> values;  // by full key
  std::string place;                       // all layers, for what none of them has
  Problems problems;
};

// Reads all layers. `${system.env.NAME}` and `${other.key}` are expanded; a reference to nothing is
// a problem, never an empty value.
RawConfig read_sources(const ConfigSources& sources);

}  // namespace penstock::host
