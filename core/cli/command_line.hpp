// From the words of the command line to an invocation.
#pragma once

#include "cli/command.hpp"

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock::cli {

struct CommandLine {
  std::optional<Invocation> invocation{};  // to run
  bool help = false;                       // of `command` or, without one, of the program
  bool version = false;
  const Command* command = nullptr;
  std::string error{};  // what is wrong with the words; empty when nothing is
};

CommandLine parse_command_line(std::span<const Command* const> commands,
                               const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

}  // namespace penstock::cli
