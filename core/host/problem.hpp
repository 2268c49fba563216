// Problem: one thing wrong with what the operator gave us. Problems are collected and reported all
// at once; each says where it is, what was found, what is needed and what to do next.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::host {

struct Problem {
  std::string place;    // the file (with its line, where known), or "--set", or "the command line"
  std::string subject;  // the key, field, plugin or symbol
  std::string found;
  std::string needed;
  std::string next;  // the next step, as an instruction
};

using Problems = std::vector<Problem>;

// One line, without the line's end; bytes that could forge or break a line are escaped.
std::string to_text(const Problem& problem);
// {"problems":[{"place","subject","found","needed","next"}, …]}
std::string to_json(const Problems& problems);

// The text in double quotes, control characters escaped, cut after `kMaxQuoted` bytes.
inline constexpr std::size_t kMaxQuoted = 200;
// Call it qualified, host::quoted(…): with a std::string argument, std::quoted is found as well and wins.
std::string quoted(std::string_view text);
// "a, b, c"; "none" when there is nothing.
std::string joined(const std::vector<std::string>& names);

}  // namespace penstock::host
