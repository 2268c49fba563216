#include "host/plugins/resolution.hpp"

#include "host/nearest.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace penstock::host {
namespace {

std::string alternatives(const std::vector<std::string>& names) {
  return names.size() == 1 ? names.front() : "one of " + joined(names);
}

class Resolver {
 public:
  Resolver(const Catalogue& catalogue, const std::string& place) : catalogue_(catalogue), place_(place) {}

  Resolution resolve(std::span<const std::string> selected) {
    for (const auto& name : selected) select(name);
    for (const auto& [name, plugin] : selected_) index_services(*plugin);
    for (const auto& [service, providers] : providers_) check_ambiguous(service, providers);
    for (const auto& [name, plugin] : selected_) check_missing(*plugin);
    for (const auto& [name, plugin] : selected_) visit(*plugin);
    return std::move(resolution_);
  }

 private:
  void select(const std::string& name) {
    const auto* plugin = catalogue_.find(name);
    if (!plugin) return unknown(name);
    if (!selected_.emplace(name, plugin).second) {
      problem("plugins", "the plugin " + host::quoted(name) + " twice", "each plugin once", "name it once");
      return;
    }
    const auto& problems = plugin->problems;
    resolution_.problems.insert(resolution_.problems.end(), problems.begin(), problems.end());
  }

  void unknown(const std::string& name) {
    const auto names = catalogue_.names();
    const auto meant = nearest(name, names);
    problem("plugins", "the plugin " + host::quoted(name) + ", which is not in " + catalogue_.folder.string(),
            "one of " + joined(names),
            meant.empty() ? "correct the name or install the plugin" : "did you mean " + meant + "?");
  }

  void index_services(const InstalledPlugin& plugin) {
    for (const auto& service : plugin.manifest.provides) providers_[service].push_back(&plugin);
  }

  void check_ambiguous(const std::string& service, const std::vector<const InstalledPlugin*>& providers) {
    if (providers.size() == 1) return;
    std::vector<std::string> names;
    std::vector<std::string> files;
    for (const auto* provider : providers) {
      names.push_back(provider->name());
      files.push_back(provider->manifest_file.string());
    }
    problem(
        "plugins",
        "the service " + host::quoted(service) + " provided by " + joined(names) + " (" + joined(files) + ")",
        "one provider", "keep one of them in `plugins`");
  }

  void check_missing(const InstalledPlugin& plugin) {
    for (const auto& service : plugin.manifest.requires_) {
      if (providers_.contains(service)) continue;
      const auto candidates = catalogue_.providers_of(service);
      resolution_.problems.push_back(
          {plugin.manifest_file.string(), plugin.name(),
           "no provider of the service " + host::quoted(service) + " in `plugins` (" + place_ + ")",
           "a plugin that provides it",
           candidates.empty() ? "install a plugin that provides it"
                              : "add " + alternatives(candidates) + " to `plugins`"});
    }
  }

  // Depth first; what a plugin requires is placed before it.
  void visit(const InstalledPlugin& plugin) {
    if (placed_.contains(&plugin)) return;
    const auto seen = std::find(path_.begin(), path_.end(), &plugin);
    if (seen != path_.end()) return report_cycle({seen, path_.end()});
    path_.push_back(&plugin);
    for (const auto& service : plugin.manifest.requires_) {
      const auto providers = providers_.find(service);
      if (providers != providers_.end()) visit(*providers->second.front());
    }
    path_.pop_back();
    placed_.insert(&plugin);
    resolution_.plugins.push_back(plugin);
  }

  void report_cycle(const std::vector<const InstalledPlugin*>& cycle) {
    std::string text;
    for (const auto* plugin : cycle) text += plugin->name() + " requires ";
    text += cycle.front()->name();
    std::vector<std::string> files;
    for (const auto* plugin : cycle) files.push_back(plugin->manifest_file.string());
    problem("plugins", "a cycle: " + text + " (" + joined(files) + ")",
            "plugins that can start one after the other",
            "remove one of them from `plugins`, or have one look the other up later");
  }

  void problem(std::string subject, std::string found, std::string needed, std::string next) {
    resolution_.problems.push_back(
        {place_, std::move(subject), std::move(found), std::move(needed), std::move(next)});
  }

  const Catalogue& catalogue_;
  const std::string& place_;
  std::map<std::string, const InstalledPlugin*> selected_;
  std::map<std::string, std::vector<const InstalledPlugin*>> providers_;
  std::vector<const InstalledPlugin*> path_;
  std::set<const InstalledPlugin*> placed_;
  Resolution resolution_;
};

}  // namespace

Resolution resolve(const Catalogue& catalogue, std::span<const std::string> selected,
                   const std::string& place) {
  return Resolver(catalogue, place).resolve(selected);
}

std::vector<InstalledPlugin> closure(std::span<const InstalledPlugin> plugins,
                                     std::span<const std::string_view> services) {
  // From the last to start to the first: whatever a plugin requires stands before it.
  std::set<std::string, std::less<>> wanted(services.begin(), services.end());
  std::vector<InstalledPlugin> chosen;
  for (auto plugin = plugins.rbegin(); plugin != plugins.rend(); ++plugin) {
    const auto& provides = plugin->manifest.provides;
    const bool is_wanted = std::any_of(provides.begin(), provides.end(),
                                       [&](const auto& name) { return wanted.contains(name); });
    if (!is_wanted) continue;
    wanted.insert(plugin->manifest.requires_.begin(), plugin->manifest.requires_.end());
    chosen.push_back(*plugin);
  }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace penstock::host
