// Help texts, made from the command table.
#pragma once

#include "cli/command.hpp"

#include <iosfwd>
#include <span>

namespace penstock::cli {

void print_overview(std::span<const Command* const> commands, std::ostream& out);
void print_help(const Command& command, std::ostream& out);
std::string usage_of(const Command& command);

}  // namespace penstock::cli
