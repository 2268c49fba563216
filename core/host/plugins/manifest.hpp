// Manifest: what a plugin says about itself before any of its code runs. The host declares its own
// configuration keys in the same form (core/host/host.json), so there is one schema mechanism.
#pragma once

#include "host/problem.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::host {

enum class KeyType { String, Choice, Path, Secret, Integer, Boolean, List };
std::string_view to_string(KeyType type);

struct KeySpec {
  std::string name;  // without the section: "max_batch"
  KeyType type = KeyType::String;
  std::optional<std::string> fallback;  // the default, as text; none: the key is required
  std::int64_t min = INT64_MIN;         // Integer only
  std::int64_t max = INT64_MAX;
  std::vector<std::string> allowed;  // Choice only
  std::string help;

  bool required() const { return !fallback; }
};

struct Manifest {
  std::string name;
  std::string summary;
  std::string version;
  std::int64_t abi = 0;
  std::string fingerprint;
  std::vector<std::string> provides;
  std::vector<std::string> requires_;
  std::vector<std::string> host_keys;  // host keys its Config view may read
  std::vector<KeySpec> config;
};

// Reads a manifest, appending one problem per fault to `problems`. Fields of the result that had a
// fault are left empty. `place` names the file in messages.
Manifest parse_manifest(std::string_view text, const std::string& place, Problems& problems);

// What a value of this key may be: "an integer from 1 to 5000", "one of text, json".
std::string allowed_values(const KeySpec& key);

// Compares the manifest beside a library with the one compiled into it. One problem per field that
// differs, naming the field and both values. Both texts are valid manifests.
Problems manifest_differences(std::string_view beside, std::string_view compiled_in,
                              const std::string& place);

// The host's own keys; the section is empty, so a key's name is its full name.
const Manifest& host_manifest();

}  // namespace penstock::host
