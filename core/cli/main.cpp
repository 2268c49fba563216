// The penstock program.
#include "cli/command_line.hpp"
#include "cli/command_table.hpp"
#include "cli/help.hpp"
#include "host/build_info.hpp"
#include "host/problem.hpp"
#include "host/serve/signals.hpp"

#include <exception>
#include <iostream>

namespace {

using namespace penstock;

int refuse(const cli::CommandLine& line) {
  std::cerr << "penstock: " << line.error << '\n';
  if (line.command)
    std::cerr << "usage: " << cli::usage_of(*line.command) << '\n';
  else
    std::cerr << "see penstock --help\n";
  return host::kExitUsage;
}

int print_version() {
  const auto& build = host::build_info();
  std::cout << "penstock " << build.version << " (plugin ABI " << build.abi << ", fingerprint "
            << build.fingerprint << ")\n";
  return host::kExitOk;
}

int execute(const cli::Invocation& invocation) {
  try {
    return invocation.command->run(invocation);
  } catch (const std::exception& exception) {
    return cli::report(
        invocation, Error{ErrorCode::Internal, std::string(invocation.command->name) +
                                                   ": found an exception, " + host::quoted(exception.what()) +
                                                   "; needed an answer; next: report this as a defect"});
  }
}

int run(const std::vector<std::string>& words) {
  const auto commands = cli::all_commands();
  const auto line = cli::parse_command_line(commands, words, std::cout, std::cerr);
  if (line.version) return print_version();
  if (line.help) {
    if (line.command)
      cli::print_help(*line.command, std::cout);
    else
      cli::print_overview(commands, std::cout);
    return host::kExitOk;
  }
  if (!line.invocation) return refuse(line);
  // Only a serving process handles its signals; every other command ends at Ctrl-C.
  if (line.command->name != "serve") host::unblock_signals();
  return execute(*line.invocation);
}

}  // namespace

int main(int argc, char** argv) {
  // Before any thread exists, so that all of them inherit it.
  host::block_signals();
  const int status = run({argv + 1, argv + argc});
  // An answer that did not reach its reader was not given.
  if (std::cout.flush()) return status;
  std::cerr << "penstock: standard output cannot be written\n";
  return status == host::kExitOk ? host::kExitDependency : status;
}
