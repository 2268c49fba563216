#include "host/plugins/catalogue.hpp"

#include "host/build_info.hpp"
#include "host/config/property_file.hpp"
#include "host/plugins/library_file.hpp"

#include <algorithm>
#include <map>

namespace penstock::host {
namespace {

constexpr std::size_t kMaxManifestBytes = 256 * 1024;

void check_build(const Manifest& manifest, const std::string& place, Problems& problems) {
  const auto& own = build_info();
  if (manifest.abi != own.abi) {
    problems.push_back({place, "abi", std::to_string(manifest.abi), std::to_string(own.abi),
                        "rebuild the plugin with the SDK of penstock " + std::string(own.version)});
  }
  if (manifest.fingerprint != own.fingerprint) {
    problems.push_back({place, "fingerprint", host::quoted(manifest.fingerprint),
                        host::quoted(own.fingerprint), "rebuild the plugin with this SDK and compiler"});
  }
}

InstalledPlugin read_plugin(const std::filesystem::path& manifest_file) {
  InstalledPlugin plugin;
  plugin.manifest_file = manifest_file;
  plugin.library = std::filesystem::path(manifest_file).replace_extension(".so");
  const auto place = manifest_file.string();
  const auto text = read_text_file(manifest_file, kMaxManifestBytes, "a manifest", plugin.problems);
  if (!plugin.problems.empty()) return plugin;
  plugin.manifest = parse_manifest(text, place, plugin.problems);
  if (plugin.problems.empty()) check_build(plugin.manifest, place, plugin.problems);
  for (auto& problem : check_library_file(plugin.library)) plugin.problems.push_back(std::move(problem));
  return plugin;
}

void find_duplicates(Catalogue& catalogue) {
  std::map<std::string, InstalledPlugin*> seen;
  for (auto& plugin : catalogue.plugins) {
    const auto [first, is_new] = seen.emplace(plugin.name(), &plugin);
    if (is_new) continue;
    const auto add = [](InstalledPlugin& one, const InstalledPlugin& other) {
      one.problems.push_back(
          {one.manifest_file.string(), "name",
           host::quoted(one.name()) + ", which " + other.manifest_file.string() + " has, too",
           "a name of its own", "remove one of the two plugins from the folder"});
    };
    add(plugin, *first->second);
    add(*first->second, plugin);
  }
}

}  // namespace

std::string InstalledPlugin::name() const {
  return manifest.name.empty() ? manifest_file.stem().string() : manifest.name;
}

const InstalledPlugin* Catalogue::find(std::string_view name) const {
  for (const auto& plugin : plugins) {
    if (plugin.name() == name) return &plugin;
  }
  return nullptr;
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> names;
  for (const auto& plugin : plugins) names.push_back(plugin.name());
  return names;
}

std::vector<std::string> Catalogue::providers_of(std::string_view service) const {
  std::vector<std::string> names;
  for (const auto& plugin : plugins) {
    const auto& provides = plugin.manifest.provides;
    const bool does = std::find(provides.begin(), provides.end(), service) != provides.end();
    if (does && plugin.problems.empty()) names.push_back(plugin.name());
  }
  return names;
}

Catalogue read_catalogue(const std::filesystem::path& folder) {
  Catalogue catalogue;
  catalogue.folder = folder;
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path());
  }
  if (error) {
    catalogue.problems.push_back(
        {folder.string(), "the plugin folder", "no readable folder (" + error.message() + ")",
         "the folder with the plugins and their manifests", "set plugins.dir, or reinstall penstock"});
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) catalogue.plugins.push_back(read_plugin(file));
  find_duplicates(catalogue);
  return catalogue;
}

}  // namespace penstock::host
