// Deployment: a configuration and its plugins after every check that can be made without running
// plugin code.
#pragma once

#include "host/config/checked_config.hpp"
#include "host/config/sources.hpp"
#include "host/plugins/catalogue.hpp"
#include "host/plugins/resolution.hpp"

#include "penstock/context.hpp"
#include "penstock/result.hpp"

#include <filesystem>
#include <initializer_list>
#include <optional>

namespace penstock::host {

// Where the installation keeps its files, unless `plugins.dir` and `share.dir` say otherwise.
struct Installation {
  std::filesystem::path plugins;
  std::filesystem::path share;

  // From the running program's place: ../lib/penstock/plugins and ../share/penstock.
  static Installation of_this_program();
};

struct Deployment {
  CheckedConfig config;
  Catalogue catalogue;
  std::vector<InstalledPlugin> plugins;  // the selected ones, in start order
  Paths paths;

  // The selected plugins that provide these services, with all they require, in start order.
  // Errors: InvalidArgument names the service nobody provides and the plugins that could.
  Result<std::vector<InstalledPlugin>> providing(std::initializer_list<std::string_view> services) const;
};

struct CheckedDeployment {
  std::optional<Deployment> deployment;  // set if and only if there are no problems
  Problems problems;
};

// Reads and checks everything; opens no library and creates no file. Never throws.
CheckedDeployment check_deployment(const ConfigSources& sources, const Installation& installation);

// The catalogue that these sources name, even when they are otherwise wrong or empty.
Catalogue find_catalogue(const ConfigSources& sources, const Installation& installation);

}  // namespace penstock::host
