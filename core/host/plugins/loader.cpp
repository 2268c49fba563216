#include "host/plugins/loader.hpp"

#include "host/config/property_file.hpp"

#include <boost/dll/shared_library.hpp>

#include <vector>

namespace penstock::host {
namespace {

constexpr const char* kSymbol = "penstock_plugin";
constexpr std::size_t kMaxManifestBytes = 256 * 1024;

// Never destroyed, so nothing is ever unmapped, not even when the process ends.
void keep_for_ever(boost::dll::shared_library library) {
  static auto& kept = *new std::vector<boost::dll::shared_library>;
  kept.push_back(std::move(library));
}

const PluginExport* refuse(const InstalledPlugin& plugin, std::string subject, std::string found,
                           std::string needed, std::string next, Problems& problems) {
  problems.push_back(
      {plugin.library.string(), std::move(subject), std::move(found), std::move(needed), std::move(next)});
  return nullptr;
}

const PluginExport* check_export(const InstalledPlugin& plugin, const PluginExport* symbol,
                                 Problems& problems) {
  if (!symbol->manifest || !symbol->create || !symbol->destroy) {
    return refuse(plugin, kSymbol, "an exported symbol with empty members", "manifest, create and destroy",
                  "end the plugin's source with PENSTOCK_PLUGIN(Class);", problems);
  }
  const auto before = problems.size();
  const auto place = plugin.manifest_file.string();
  const auto beside = read_text_file(plugin.manifest_file, kMaxManifestBytes, "a manifest", problems);
  if (problems.size() != before) return nullptr;
  for (auto& difference : manifest_differences(beside, symbol->manifest, place)) {
    problems.push_back(std::move(difference));
  }
  return problems.size() == before ? symbol : nullptr;
}

}  // namespace

const PluginExport* open_plugin(const InstalledPlugin& plugin, Problems& problems) {
  try {
    // The name is taken as it is: trying decorated names would hide the real error.
    const auto path = std::filesystem::absolute(plugin.library).string();
    boost::dll::shared_library library(path,
                                       boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
    const auto* symbol = library.has(kSymbol) ? &library.get<const PluginExport>(kSymbol) : nullptr;
    keep_for_ever(std::move(library));
    if (symbol) return check_export(plugin, symbol, problems);
    return refuse(plugin, kSymbol, "no such symbol", "the exported symbol of a plugin",
                  "end the plugin's source with PENSTOCK_PLUGIN(Class);", problems);
  } catch (const std::exception& exception) {
    return refuse(plugin, "the library", host::quoted(exception.what()), "a library that can be loaded",
                  "install the libraries it needs, or rebuild it", problems);
  }
}

}  // namespace penstock::host
