// ServiceRegistry: which object stands for which service. Filled while plugins configure, read from
// then on. Thread-safe.
#pragma once

#include "host/plugins/manifest.hpp"

#include "penstock/services.hpp"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace penstock::host {

class ServiceRegistry {
 public:
  void provide(std::string_view name, void* service);
  void* find(std::string_view name) const;  // null when nobody provided it

 private:
  mutable std::mutex mutex_;
  std::map<std::string, void*, std::less<>> services_;
};

// What one plugin may provide and require: what its manifest says, and nothing else.
class PluginServices : public Services {
 public:
  PluginServices(ServiceRegistry& registry, const Manifest& manifest);

 private:
  void provide_raw(std::string_view name, void* service) override;
  void* require_raw(std::string_view name) override;

  ServiceRegistry& registry_;
  const Manifest& manifest_;
};

}  // namespace penstock::host
