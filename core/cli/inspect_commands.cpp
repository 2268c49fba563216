#include "cli/command_table.hpp"
#include "cli/description.hpp"
#include "host/nearest.hpp"
#include "host/plugins/loader.hpp"

#include "penstock/json.hpp"

#include <algorithm>
#include <ostream>

namespace penstock::cli {
namespace {

int print_checked(const Invocation& invocation, const host::Deployment& deployment) {
  if (invocation.json) {
    json::Writer writer;
    writer.begin_object().key("problems").begin_array().end_array().key("plugins").begin_array();
    for (const auto& plugin : deployment.plugins) writer.string(plugin.name());
    invocation.out << writer.end_array().end_object().take() << '\n';
    return host::kExitOk;
  }
  invocation.out << "no problems; " << deployment.plugins.size() << " plugins start in this order:\n";
  for (const auto& plugin : deployment.plugins) invocation.out << "  " << plugin.name() << '\n';
  return host::kExitOk;
}

int check(const Invocation& invocation) {
  const auto checked = host::check_deployment(invocation.sources, invocation.installation);
  if (!checked.deployment) return report(invocation, checked.problems);
  host::Problems problems;
  for (const auto& plugin : checked.deployment->plugins) host::open_plugin(plugin, problems);
  return problems.empty() ? print_checked(invocation, *checked.deployment) : report(invocation, problems);
}

int plugins(const Invocation& invocation) {
  const auto catalogue = host::find_catalogue(invocation.sources, invocation.installation);
  if (!catalogue.problems.empty()) return report(invocation, catalogue.problems);
  if (invocation.json) {
    invocation.out << to_json(catalogue) << '\n';
  } else {
    print(catalogue, invocation.out);
  }
  const auto healthy = [](const host::InstalledPlugin& plugin) { return plugin.problems.empty(); };
  return std::all_of(catalogue.plugins.begin(), catalogue.plugins.end(), healthy) ? host::kExitOk
                                                                                  : host::kExitNo;
}

int print_manifest(const Invocation& invocation, const host::Manifest& manifest) {
  if (invocation.json)
    invocation.out << to_json(manifest) << '\n';
  else
    print(manifest, invocation.out);
  return host::kExitOk;
}

int describe(const Invocation& invocation) {
  const auto& name = invocation.arguments[0];
  if (name == "host") return print_manifest(invocation, host::host_manifest());
  const auto catalogue = host::find_catalogue(invocation.sources, invocation.installation);
  const auto* plugin = catalogue.find(name);
  if (plugin && plugin->problems.empty()) return print_manifest(invocation, plugin->manifest);
  if (plugin) return report(invocation, plugin->problems);
  const auto names = catalogue.names();
  const auto meant = host::nearest(name, names);
  return report(invocation,
                host::Problems{{catalogue.folder.string(), "describe", "no plugin " + host::quoted(name),
                                "host or one of " + host::joined(names),
                                meant.empty() ? "see `penstock plugins`" : "did you mean " + meant + "?"}});
}

constexpr Command kCommands[] = {
    {"check",
     "",
     0,
     0,
     {},
     "check configuration and plugins, report every problem at once",
     "Reads the configuration as serve would, checks every key against its schema and every plugin against\n"
     "this program, opens the libraries, and starts nothing. Prints all problems, each with its file, what\n"
     "was found, what is needed and the next step; exit status 2 if there are any.",
     &check},
    {"plugins",
     "",
     0,
     0,
     {},
     "list the installed plugins",
     "Lists the plugins in plugins.dir with what they provide and require. A plugin that cannot be loaded "
     "is\n"
     "listed with the reason; exit status 1 if there is one.",
     &plugins},
    {"describe",
     "PLUGIN",
     1,
     1,
     {},
     "show a plugin's services and all its configuration keys",
     "Shows what the plugin is for, the services it provides and requires, and each of its configuration "
     "keys\n"
     "with type, default and range. `penstock describe host` shows the keys of the program itself.",
     &describe},
};

}  // namespace

std::span<const Command> inspect_commands() {
  return kCommands;
}

}  // namespace penstock::cli
