// Resolution: from the names of the selected plugins to the order in which they start.
#pragma once

#include "host/plugins/catalogue.hpp"

namespace penstock::host {

struct Resolution {
  std::vector<InstalledPlugin> plugins;  // in start order; incomplete when there are problems
  Problems problems;
};

// Finds unknown and doubled names, faulty plugins, missing and ambiguous providers and cycles, all
// of them. `place` names where the selection was written. Plugins that do not depend on each other
// start in the order of their names, so two runs start alike.
Resolution resolve(const Catalogue& catalogue, std::span<const std::string> selected,
                   const std::string& place);

// Those of `plugins` that provide one of the services, with all they require, in the same order.
std::vector<InstalledPlugin> closure(std::span<const InstalledPlugin> plugins,
                                     std::span<const std::string_view> services);

}  // namespace penstock::host
