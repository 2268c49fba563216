// All commands of the program.
#pragma once

#include "cli/command.hpp"

#include <string_view>
#include <vector>

namespace penstock::cli {

std::span<const Command> serve_commands();
std::span<const Command> inspect_commands();  // check, plugins, describe
std::span<const Command> migrate_commands();
std::span<const Command> stock_commands();
std::span<const Command> order_commands();
std::span<const Command> audit_commands();
std::span<const Command> dead_commands();
std::span<const Command> health_commands();

// In the order of the overview.
std::vector<const Command*> all_commands();

}  // namespace penstock::cli
