// Making bytes from outside fit to print: whatever they are, they stay within their line and quotes.
#pragma once

#include <string>
#include <string_view>

namespace penstock::host {

// Control characters (C0, DEL, C1) and bytes that are not UTF-8 become \xNN.
std::string printable(std::string_view text);
// The same, for a place between quotes: `"` and `\` get a backslash.
std::string escaped(std::string_view text);

// Bytes that are not UTF-8 become U+FFFD, for text that must be UTF-8, such as JSON.
std::string valid_utf8(std::string_view text);

// At most `limit` bytes, not cut within a character; "..." marks a cut.
std::string shortened(std::string_view text, std::size_t limit);

}  // namespace penstock::host
