// What a plugin is: one shared library, one manifest beside it, one object with three phases.
//
// The manifest (NAME.json: name, version, summary, provides, requires, config) is checked before the
// library is opened. The build adds the fingerprint to it and compiles the same text into the
// library, so a manifest that was edited or belongs to another build is refused.
//
// Phases, each on the host's main thread and each with a deadline (`lifecycle.*_ms`):
//   configure  read the config, register routes, metrics and services. No I/O, no threads.
//   start      in dependency order: everything required is already started. Open, connect, start
//              threads. A dependency that is away is not a failure: start degraded and say so
//              through Health.
//   stop       in reverse order. On return no thread of the plugin is alive and it calls nobody.
//              Called once, also after a start that failed.
//   destroy    the destructor. The library itself is never unmapped.
#pragma once

#include "penstock/context.hpp"
#include "penstock/result.hpp"

#include <memory>

namespace penstock {

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual Result<void> configure(Context& context) = 0;
  virtual Result<void> start() = 0;
  virtual Result<void> stop(Deadline deadline) = 0;
};

// The one symbol a plugin exports, named `penstock_plugin`. A plain struct: readable by any build,
// so a mismatch can be reported rather than crashed on.
struct PluginExport {
  const char* manifest;  // the manifest's text, as the build wrote it beside the library
  Plugin* (*create)();   // may throw; the host catches
  void (*destroy)(Plugin*);
};

extern const char* const kPluginManifest;  // defined by the build from the plugin's manifest

}  // namespace penstock

// Put once into the plugin's plugin.cpp, at namespace scope.
#define PENSTOCK_PLUGIN(Type)                                                                           \
  extern "C" __attribute__((visibility("default"))) const ::penstock::PluginExport penstock_plugin;     \
  const ::penstock::PluginExport penstock_plugin = {::penstock::kPluginManifest,                        \
                                                    []() -> ::penstock::Plugin* { return new Type(); }, \
                                                    [](::penstock::Plugin* plugin) { delete plugin; }}
