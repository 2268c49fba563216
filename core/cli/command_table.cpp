#include "cli/command_table.hpp"

namespace penstock::cli {

std::vector<const Command*> all_commands() {
  std::vector<const Command*> all;
  for (const auto commands : {serve_commands(), inspect_commands(), migrate_commands(), stock_commands(),
                              order_commands(), audit_commands(), dead_commands(), health_commands()}) {
    for (const auto& command : commands) all.push_back(&command);
  }
  return all;
}

}  // namespace penstock::cli
