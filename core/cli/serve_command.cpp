#include "cli/command_table.hpp"
#include "host/serve/application.hpp"

#include "penstock/fail_point.hpp"

namespace penstock::cli {
namespace {

int serve(const Invocation& invocation) {
  if (const auto armed = fail_point::arm_from_environment(); !armed) return report(invocation, armed.error());
  const auto checked = host::check_deployment(invocation.sources, invocation.installation);
  if (!checked.deployment) return report(invocation, checked.problems);
  return host::run_application(*checked.deployment, "penstock");
}

constexpr Command kCommands[] = {
    {"serve",
     "",
     0,
     0,
     {},
     "take orders until a signal ends it",
     "Checks the configuration, loads and starts the plugins that it names, opens both HTTP listeners and\n"
     "serves. Logs to standard error.\n\n"
     "SIGTERM, SIGINT and SIGQUIT end it: readiness turns 503, running requests are finished, the plugins\n"
     "stop, exit status 0. A second signal ends it at once, and so does lifecycle.drain_ms. SIGHUP is\n"
     "ignored.",
     &serve},
};

}  // namespace

std::span<const Command> serve_commands() {
  return kCommands;
}

}  // namespace penstock::cli
