// The name that somebody probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock::host {

// Insertions, deletions, substitutions and swaps of neighbours that turn one into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The closest candidate, or empty when none is close enough to be meant.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace penstock::host
