// Whether a text is a value of a key.
#pragma once

#include "host/plugins/manifest.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock::host {

bool fits(const KeySpec& key, std::string_view text);

// The whole text as a decimal integer; nothing for anything else, also a plus sign or blanks.
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace penstock::host
