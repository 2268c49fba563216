#include "host/deployment.hpp"

#include "host/nearest.hpp"

#include <boost/dll/runtime_symbol_info.hpp>

#include <algorithm>

namespace penstock::host {
namespace {

// The folders are needed before the configuration can be checked, because the schema of the plugins
// lies in one of them.
std::string early_text(const RawConfig& raw, const std::string& key) {
  const auto found = raw.values.find(key);
  return found == raw.values.end() || found->second.broken ? std::string() : found->second.text;
}

std::filesystem::path folder_or(const std::string& configured, const std::filesystem::path& fallback) {
  return configured.empty() ? fallback : std::filesystem::path(configured);
}

Catalogue catalogue_of(const RawConfig& raw, const Installation& installation) {
  return read_catalogue(folder_or(early_text(raw, "plugins.dir"), installation.plugins));
}

std::vector<Manifest> manifests_of(std::span<const InstalledPlugin> plugins) {
  std::vector<Manifest> manifests;
  for (const auto& plugin : plugins) {
    if (!plugin.manifest.name.empty()) manifests.push_back(plugin.manifest);
  }
  return manifests;
}

void check_host_keys(std::span<const InstalledPlugin> plugins, Problems& problems) {
  std::vector<std::string> known;
  for (const auto& key : host_manifest().config) known.push_back(key.name);
  for (const auto& plugin : plugins) {
    for (const auto& key : plugin.manifest.host_keys) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const auto meant = nearest(key, known);
      problems.push_back({plugin.manifest_file.string(), "host_keys", host::quoted(key), "a key of the host",
                          meant.empty() ? "see `penstock describe host`" : "did you mean " + meant + "?"});
    }
  }
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// Whoever reaches the public listener may then claim to be anybody.
void check_identity(const CheckedConfig& config, Problems& problems) {
  const auto* host = config.find("http.public.host");
  const auto* mode = config.find("auth.mode");
  const auto* accepted = config.find("auth.header_from_network");
  if (!host || !mode || !accepted || mode->text != "header" || accepted->text == "true") return;
  if (is_loopback(host->text)) return;
  problems.push_back(
      {host->place, "http.public.host", host::quoted(host->text) + " with auth.mode = header",
       "a loopback address, because anybody else could set X-User-Id",
       "listen on 127.0.0.1, or set auth.header_from_network = true if only the gateway gets through"});
}

void check_ports(const CheckedConfig& config, Problems& problems) {
  const auto* first = config.find("http.public.port");
  const auto* second = config.find("http.operator.port");
  if (!first || !second || first->text == "0" || first->text != second->text) return;
  if (config.text("http.public.host") != config.text("http.operator.host")) return;
  problems.push_back({second->place, "http.operator.port",
                      host::quoted(second->text) + ", the port of http.public", "a port of its own",
                      "choose another port"});
}

Paths paths_of(const CheckedConfig& config, const Installation& installation) {
  return {std::filesystem::absolute(config.text("data.dir")),
          std::filesystem::absolute(folder_or(config.text("share.dir"), installation.share))};
}

CheckedDeployment check(const ConfigSources& sources, const Installation& installation) {
  CheckedDeployment checked;
  auto raw = read_sources(sources);
  auto& problems = checked.problems;
  problems = std::move(raw.problems);

  auto catalogue = catalogue_of(raw, installation);
  problems.insert(problems.end(), catalogue.problems.begin(), catalogue.problems.end());
  const auto names = split_list(early_text(raw, "plugins"));
  const auto place = raw.values.contains("plugins") ? raw.values["plugins"].place : raw.place;
  auto resolution = resolve(catalogue, names, place);
  problems.insert(problems.end(), resolution.problems.begin(), resolution.problems.end());
  check_host_keys(resolution.plugins, problems);

  auto config =
      CheckedConfig::check(raw, manifests_of(resolution.plugins), manifests_of(catalogue.plugins), problems);
  check_identity(config, problems);
  if (problems.empty()) check_ports(config, problems);
  if (!problems.empty()) return checked;
  auto paths = paths_of(config, installation);
  checked.deployment = {std::move(config), std::move(catalogue), std::move(resolution.plugins),
                        std::move(paths)};
  return checked;
}

}  // namespace

Installation Installation::of_this_program() {
  const std::filesystem::path program(boost::dll::program_location().string());
  const auto prefix = program.parent_path().parent_path();
  return {prefix / "lib/penstock/plugins", prefix / "share/penstock"};
}

Result<std::vector<InstalledPlugin>> Deployment::providing(
    std::initializer_list<std::string_view> services) const {
  for (const auto service : services) {
    const auto provides = [&](const InstalledPlugin& plugin) {
      const auto& names = plugin.manifest.provides;
      return std::find(names.begin(), names.end(), service) != names.end();
    };
    if (std::any_of(plugins.begin(), plugins.end(), provides)) continue;
    return Error{ErrorCode::InvalidArgument, "plugins: found none that provides the service " +
                                                 host::quoted(service) + "; needed one of " +
                                                 joined(catalogue.providers_of(service)) +
                                                 "; next: add it to `plugins` in the configuration"};
  }
  return closure(plugins, {services.begin(), services.size()});
}

CheckedDeployment check_deployment(const ConfigSources& sources, const Installation& installation) {
  try {
    return check(sources, installation);
  } catch (const std::exception& exception) {
    return {std::nullopt,
            {{"the configuration", "the check", host::quoted(exception.what()), "a check that ends",
              "report this as a defect of penstock"}}};
  }
}

Catalogue find_catalogue(const ConfigSources& sources, const Installation& installation) {
  return catalogue_of(read_sources(sources), installation);
}

}  // namespace penstock::host
