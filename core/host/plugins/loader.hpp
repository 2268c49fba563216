// Loader: opens plugin libraries. A library that was opened stays mapped to the end of the process:
// threads, thread-local storage and registrations of a plugin may outlive any moment at which it
// would seem safe to unmap it.
#pragma once

#include "host/plugins/catalogue.hpp"

#include "penstock/plugin.hpp"

namespace penstock::host {

// Effect: maps the library with all symbols resolved now and none shared with others, finds its
// exported symbol and compares its manifest with the one beside it.
// Null after appending what is wrong to `problems`. Never throws.
const PluginExport* open_plugin(const InstalledPlugin& plugin, Problems& problems);

}  // namespace penstock::host
