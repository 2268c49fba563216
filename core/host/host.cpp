#include "host/host.hpp"

#include "host/context/plugin_context.hpp"
#include "host/context/service_registry.hpp"
#include "host/context/system_clock.hpp"
#include "host/lifecycle/lifecycle.hpp"
#include "host/plugins/loader.hpp"

#include <stdexcept>

namespace penstock::host {
namespace {

LifecycleLimits limits_of(const CheckedConfig& config) {
  return {config.duration("lifecycle.configure_ms"), config.duration("lifecycle.start_ms"),
          config.duration("lifecycle.stop_ms")};
}

std::vector<std::string> not_provided(const Manifest& manifest, const ServiceRegistry& services) {
  std::vector<std::string> missing;
  for (const auto& name : manifest.provides) {
    if (!services.find(name)) missing.push_back(name);
  }
  return missing;
}

Result<void> create_data_folder(const CheckedConfig& config, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && std::filesystem::is_directory(folder, error)) return {};
  const auto why = error ? error.message() : "it exists and is no folder";
  return Error{
      ErrorCode::Unavailable,
      to_text(Problem{config.find("data.dir")->place, "data.dir",
                      host::quoted(folder.string()) + ", which cannot be created (" + why + ")",
                      "a folder that this user can write to", "create it, or set data.dir to another"})};
}

}  // namespace

class Host::Parts {
 public:
  Parts(const Deployment& deployment, Surroundings surroundings)
      : deployment_(deployment),
        surroundings_(std::move(surroundings)),
        lifecycle_(limits_of(deployment.config), surroundings_.log, surroundings_.on_overrun) {}

  Problems load(std::span<const InstalledPlugin> plugins) {
    Problems problems;
    plugins_.assign(plugins.begin(), plugins.end());
    for (const auto& plugin : plugins_) {
      if (const auto* exports = open_plugin(plugin, problems)) entries_.push_back(entry_of(plugin, exports));
    }
    return problems;
  }

  Result<void> start() {
    if (auto created = create_data_folder(deployment_.config, deployment_.paths.data); !created)
      return created;
    return lifecycle_.start(std::move(entries_));
  }

  Result<void> stop() { return lifecycle_.stop(); }

  void* service(std::string_view name) const {
    auto* service = services_.find(name);
    if (!service) throw std::logic_error("no loaded plugin provides the service " + std::string(name));
    return service;
  }

 private:
  PluginEntry entry_of(const InstalledPlugin& plugin, const PluginExport* exports) {
    contexts_.push_back(std::make_unique<PluginContext>(plugin.manifest, deployment_, surroundings_, clock_,
                                                        random_, services_));
    return {plugin.name(), plugin.library, exports, contexts_.back().get(),
            [this, &plugin] { return not_provided(plugin.manifest, services_); }};
  }

  const Deployment& deployment_;
  const Surroundings surroundings_;
  SystemClock clock_;
  SystemRandom random_;
  ServiceRegistry services_;
  std::vector<InstalledPlugin> plugins_;
  std::vector<std::unique_ptr<PluginContext>> contexts_;
  std::vector<PluginEntry> entries_;
  Lifecycle lifecycle_;  // last: its plugins use everything above until they are destroyed
};

Host::Host(const Deployment& deployment, Surroundings surroundings)
    : parts_(std::make_unique<Parts>(deployment, std::move(surroundings))) {}

Host::~Host() = default;

Problems Host::load(std::span<const InstalledPlugin> plugins) {
  return parts_->load(plugins);
}
Result<void> Host::start() {
  return parts_->start();
}
Result<void> Host::stop() {
  return parts_->stop();
}
void* Host::service_raw(std::string_view name) {
  return parts_->service(name);
}

}  // namespace penstock::host
