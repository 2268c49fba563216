// A subcommand of `penstock`, declared as one row of a table, and what the command line made of it.
//
//   constexpr OptionSpec kOptions[] = {{"--dry-run", "", "check the file, write nothing"}};
//   {"stock load", "FILE.csv", 1, 1, kOptions, "load products and stock from a CSV file", "…", &load}
//
// Every command also takes -c/--config FILE, --set KEY=VALUE, --json and --help; main parses them.
// A command writes its answer to `out`, and what went wrong to `err`; it returns an exit status from
// host/exit_status.hpp. It may throw: main turns that into kExitDefect with a message.
#pragma once

#include "host/config/sources.hpp"
#include "host/deployment.hpp"
#include "host/exit_status.hpp"

#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cli {

struct OptionSpec {
  std::string_view name;   // "--dry-run"
  std::string_view value;  // "ROWS" when the option takes a value, empty for a flag
  std::string_view help;
};

struct Invocation;

struct Command {
  std::string_view name;       // "serve", "stock load": one or two words
  std::string_view arguments;  // for the usage line: "FILE.csv"
  std::size_t min_arguments = 0;
  std::size_t max_arguments = 0;
  std::span<const OptionSpec> options;
  std::string_view summary;  // one line for the overview
  std::string_view help;     // paragraphs for `penstock NAME --help`
  int (*run)(const Invocation&) = nullptr;
};

struct Invocation {
  const Command* command = nullptr;
  std::vector<std::string> arguments{};
  std::map<std::string, std::string, std::less<>> options{};  // own options: name → value ("" for flags)
  host::ConfigSources sources{};
  host::Installation installation{};
  bool json = false;
  std::ostream& out;
  std::ostream& err;

  bool has(std::string_view option) const { return options.contains(option); }
};

// Prints the problems, as text to `err` or with --json to `out`, and returns kExitUsage.
int report(const Invocation& invocation, const host::Problems& problems);
// Prints one error the same way and returns its exit status.
int report(const Invocation& invocation, const Error& error);

}  // namespace penstock::cli
