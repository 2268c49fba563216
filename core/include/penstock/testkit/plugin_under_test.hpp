// One plugin, made through its export as the host makes it, in the test's own process: link the
// plugin's plugin.cpp and its generated manifest into the test.
//
// The fake context's config holds the manifest's defaults, so a key that the code reads and the
// manifest does not declare fails here. Keys without a default are the test's to set.
#pragma once

#include "penstock/json.hpp"
#include "penstock/plugin.hpp"
#include "penstock/testkit/fake_context.hpp"

extern "C" const penstock::PluginExport penstock_plugin;

namespace penstock::testkit {

class PluginUnderTest {
 public:
  PluginUnderTest() : plugin_(penstock_plugin.create()) { take_defaults(); }
  ~PluginUnderTest() { penstock_plugin.destroy(plugin_); }
  PluginUnderTest(const PluginUnderTest&) = delete;
  PluginUnderTest& operator=(const PluginUnderTest&) = delete;

  FakeContext& context() { return context_; }
  Result<void> configure() { return plugin_->configure(context_); }
  Result<void> start() { return plugin_->start(); }
  Result<void> stop() { return plugin_->stop(std::chrono::steady_clock::now() + std::chrono::seconds(10)); }

 private:
  void take_defaults() {
    const auto manifest = json::parse(penstock_plugin.manifest);
    for (const auto& entry : *manifest->find("config")->as_array()) {
      const auto* value = entry.find("default");
      if (value) context_.config().set(*entry.find("key")->as_string(), text_of(*value));
    }
  }

  static std::string text_of(const json::Value& value) {
    if (const auto* number = value.as_integer()) return std::to_string(*number);
    if (const auto* flag = value.as_bool()) return *flag ? "true" : "false";
    return *value.as_string();
  }

  FakeContext context_;
  Plugin* const plugin_;
};

}  // namespace penstock::testkit
