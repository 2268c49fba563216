#include "cli/plugin_session.hpp"

#include "penstock/json.hpp"
#include "penstock/orders/stock_books.hpp"

#include <ostream>

namespace penstock::cli {
namespace {

using orders::SchemaAdmin;
using orders::SchemaStatus;

void print(const Invocation& invocation, const SchemaStatus& before, int now) {
  if (invocation.json) {
    json::Writer writer;
    writer.begin_object()
        .key("from")
        .integer(before.current)
        .key("to")
        .integer(now)
        .key("steps")
        .begin_array();
    for (const auto& step : before.pending) writer.string(step);
    invocation.out << writer.end_array().end_object().take() << '\n';
    return;
  }
  if (before.pending.empty()) {
    invocation.out << "the schema is at step " << before.current << ", which is the newest\n";
    return;
  }
  const bool applied = now != before.current;
  for (const auto& step : before.pending)
    invocation.out << (applied ? "applied " : "pending ") << step << '\n';
  invocation.out << "the schema is at step " << now << " of " << before.target << '\n';
}

// A store that migrates as it starts would leave nothing to plan, and would apply what was only to be shown.
Result<Invocation> without_auto_migration(const Invocation& invocation, const host::Deployment& deployment) {
  const auto providers = deployment.providing({SchemaAdmin::kServiceName});
  if (!providers) return providers.error();
  auto quiet = invocation;
  for (const auto& plugin : *providers) {
    const auto key = plugin.name() + ".auto_migrate";
    if (deployment.config.find(key)) quiet.sources.overrides.push_back(key + "=false");
  }
  return quiet;
}

int migrate(const Invocation& asked) {
  const auto checked = host::check_deployment(asked.sources, asked.installation);
  if (!checked.deployment) return report(asked, checked.problems);
  const auto quiet = without_auto_migration(asked, *checked.deployment);
  if (!quiet) return report(asked, quiet.error());
  const auto& invocation = *quiet;
  return with_plugins(invocation, {SchemaAdmin::kServiceName}, [&](host::Host& host) -> int {
    auto& schema = host.service<SchemaAdmin>();
    const auto before = schema.status();
    if (!before) return report(invocation, before.error());
    if (invocation.has("--plan")) {
      print(invocation, *before, before->current);
      return host::kExitOk;
    }
    const auto after = schema.migrate();
    if (!after) return report(invocation, after.error());
    print(invocation, *before, after->current);
    return host::kExitOk;
  });
}

constexpr OptionSpec kOptions[] = {{"--plan", "", "show the pending steps; apply nothing"}};

constexpr Command kCommands[] = {
    {"migrate", "", 0, 0, kOptions, "bring the database's schema up to date",
     "Applies the pending steps of share/penstock/schema in order, each in its own transaction; forward "
     "only.\n"
     "Refuses a database that is newer than this program.",
     &migrate},
};

}  // namespace

std::span<const Command> migrate_commands() {
  return kCommands;
}

}  // namespace penstock::cli
