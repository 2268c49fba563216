#include "host/context/service_registry.hpp"

#include <algorithm>
#include <stdexcept>

namespace penstock::host {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void refuse(const Manifest& manifest, const std::string& what) {
  throw std::logic_error("the plugin " + manifest.name + " " + what);
}

}  // namespace

void ServiceRegistry::provide(std::string_view name, void* service) {
  const std::lock_guard lock(mutex_);
  services_.insert_or_assign(std::string(name), service);
}

void* ServiceRegistry::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = services_.find(name);
  return found == services_.end() ? nullptr : found->second;
}

PluginServices::PluginServices(ServiceRegistry& registry, const Manifest& manifest)
    : registry_(registry), manifest_(manifest) {}

void PluginServices::provide_raw(std::string_view name, void* service) {
  const std::string text(name);
  if (!contains(manifest_.provides, name))
    refuse(manifest_, "provides " + text + ", which its manifest does not declare");
  if (registry_.find(name)) refuse(manifest_, "provides " + text + " a second time");
  registry_.provide(name, service);
}

void* PluginServices::require_raw(std::string_view name) {
  const std::string text(name);
  if (!contains(manifest_.requires_, name))
    refuse(manifest_, "requires " + text + ", which its manifest does not declare");
  auto* service = registry_.find(name);
  if (!service) refuse(manifest_, "asks for " + text + " before start(), when it may not be there yet");
  return service;
}

}  // namespace penstock::host
