#include "host/config/sources.hpp"

#include "host/config/expansion.hpp"
#include "host/config/property_file.hpp"

namespace penstock::host {
namespace {

constexpr std::string_view kOverridePlace = "--set";

void add_file(const std::filesystem::path& path, std::size_t layer, RawConfig& raw) {
  for (auto& property : read_property_file(path, raw.problems)) {
    auto place = path.string() + ":" + std::to_string(property.line);
    raw.values[property.key] = {std::move(property.value), std::move(place), layer, false};
  }
}

void add_override(const std::string& text, std::size_t layer, RawConfig& raw) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    raw.problems.push_back({std::string(kOverridePlace), text, "no key with a value", "KEY=VALUE",
                            "write, for example, --set log.level=debug"});
    return;
  }
  raw.values[text.substr(0, equals)] = {text.substr(equals + 1), std::string(kOverridePlace), layer, false};
}

std::string place_of(const ConfigSources& sources) {
  std::vector<std::string> layers;
  for (const auto& file : sources.files) layers.push_back(file.string());
  if (!sources.overrides.empty()) layers.emplace_back(kOverridePlace);
  return layers.empty() ? "the configuration (no -c FILE was given)" : joined(layers);
}

}  // namespace

RawConfig read_sources(const ConfigSources& sources) {
  RawConfig raw;
  raw.place = place_of(sources);
  std::size_t layer = 0;
  for (const auto& file : sources.files) add_file(file, ++layer, raw);
  ++layer;
  for (const auto& text : sources.overrides) add_override(text, layer, raw);
  expand_references(raw);
  return raw;
}

}  // namespace penstock::host
