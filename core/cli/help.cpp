#include "cli/help.hpp"

#include <algorithm>
#include <ostream>

namespace penstock::cli {
namespace {

constexpr std::string_view kCommonOptions =
    "  -c, --config FILE   a properties file; may be repeated, a later file wins\n"
    "  --set KEY=VALUE     sets one key, over all files; may be repeated\n"
    "  --json              the answer as one JSON document on standard output\n"
    "  -h, --help          this text\n";

constexpr std::string_view kExitStatuses =
    "Exit status:\n"
    "  0  done, and the answer is yes\n"
    "  1  done, and the answer is no: the books do not balance, there is no such order\n"
    "  2  the command line, a file or the configuration is wrong; nothing was done\n"
    "  3  a database, broker, port or file refused or is away; trying later can help\n"
    "  4  a plugin or the program broke its own rules; please report it\n"
    "  5  a plugin or the shutdown took longer than its limit, and the process was ended\n";

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

}  // namespace

std::string usage_of(const Command& command) {
  std::string usage = "penstock " + std::string(command.name);
  if (!command.arguments.empty()) usage += " " + std::string(command.arguments);
  for (const auto& option : command.options) {
    usage +=
        " [" + std::string(option.name) + (option.value.empty() ? "" : " " + std::string(option.value)) + "]";
  }
  return usage + " [-c FILE]... [--set KEY=VALUE]... [--json]";
}

void print_overview(std::span<const Command* const> commands, std::ostream& out) {
  out << "penstock: flash-sale order intake that never oversells and never loses an accepted order\n\n"
         "Usage: penstock COMMAND [-c FILE]... [--set KEY=VALUE]...\n\n"
         "Commands:\n";
  for (const auto* command : commands) {
    const auto name = std::string(command->name) +
                      (command->arguments.empty() ? "" : " " + std::string(command->arguments));
    out << "  " << padded(name, 28) << command->summary << '\n';
  }
  out << "  " << padded("COMMAND --help", 28) << "what one command does, with its options\n"
      << "  " << padded("--version", 28) << "what this program is\n\n"
      << "Options of every command:\n"
      << kCommonOptions << '\n'
      << kExitStatuses << "\nTo try it: penstock serve -c etc/embedded.properties\n";
}

void print_help(const Command& command, std::ostream& out) {
  out << "Usage: " << usage_of(command) << "\n\n"
      << command.help << (command.help.ends_with('\n') ? "\n" : "\n\n") << "Options:\n";
  for (const auto& option : command.options) {
    const auto name =
        std::string(option.name) + (option.value.empty() ? "" : " " + std::string(option.value));
    out << "  " << padded(name, 20) << option.help << '\n';
  }
  out << kCommonOptions << '\n' << kExitStatuses;
}

}  // namespace penstock::cli
