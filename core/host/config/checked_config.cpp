#include "host/config/checked_config.hpp"

#include "host/config/property_file.hpp"
#include "host/config/value_check.hpp"
#include "host/nearest.hpp"

#include <algorithm>
#include <stdexcept>

namespace penstock::host {
namespace {

constexpr std::string_view kFileSuffix = ".file";
constexpr std::size_t kMaxSecretBytes = 64 * 1024;

std::string full_name(const Manifest& manifest, const std::string& key) {
  return manifest.name.empty() ? key : manifest.name + "." + key;
}

struct DeclaredKey {
  const KeySpec* spec = nullptr;
  bool selected = false;  // its plugin runs: the key must have a value
};

using DeclaredKeys = std::map<std::string, DeclaredKey>;

class Checker {
 public:
  Checker(const RawConfig& raw, Problems& problems) : raw_(raw), problems_(problems) {}

  void declare(const Manifest& manifest, bool selected) {
    for (const auto& key : manifest.config) {
      auto& declared = declared_[full_name(manifest, key.name)];
      declared = {&key, declared.selected || selected};
    }
  }

  std::map<std::string, CheckedValue, std::less<>> run() {
    for (const auto& [key, value] : raw_.values) {
      if (!is_declared(key)) unknown(key, value);
    }
    for (const auto& [key, declared] : declared_) value_of(key, declared);
    return std::move(values_);
  }

 private:
  bool is_declared(const std::string& key) const {
    if (declared_.contains(key)) return true;
    if (!key.ends_with(kFileSuffix)) return false;
    const auto secret = declared_.find(key.substr(0, key.size() - kFileSuffix.size()));
    return secret != declared_.end() && secret->second.spec->type == KeyType::Secret;
  }

  // The value stays out of the message: the key may be a misspelt password.
  void unknown(const std::string& key, const RawValue& value) {
    std::vector<std::string> names;
    for (const auto& [name, declared] : declared_) {
      names.push_back(name);
      if (declared.spec->type == KeyType::Secret) names.push_back(name + std::string(kFileSuffix));
    }
    const auto meant = nearest(key, names);
    problems_.push_back(
        {value.place, key, "an unknown key", "a key of the host or of an installed plugin",
         meant.empty() ? "remove it, or see `penstock describe`" : "did you mean " + meant + "?"});
  }

  void value_of(const std::string& key, const DeclaredKey& declared) {
    const auto& spec = *declared.spec;
    const auto* raw = find(key);
    const auto* file = spec.type == KeyType::Secret ? find(key + std::string(kFileSuffix)) : nullptr;
    if (raw && file && raw->layer == file->layer) return two_secrets(key, *raw, *file);
    if (file && (!raw || file->layer > raw->layer)) return secret_from_file(key, *file);
    if (raw) return given(key, spec, *raw);
    if (!declared.selected) return;
    if (spec.required()) return missing(key, spec);
    values_[key] = {spec.type, *spec.fallback, "default"};
  }

  const RawValue* find(const std::string& key) const {
    const auto found = raw_.values.find(key);
    return found == raw_.values.end() ? nullptr : &found->second;
  }

  void given(const std::string& key, const KeySpec& spec, const RawValue& raw) {
    if (raw.broken) return;
    // An empty value is one only where the default is empty, too: it then means "as by default".
    const bool may_be_empty = spec.fallback && spec.fallback->empty();
    if (raw.text.empty() && !may_be_empty) {
      problems_.push_back(
          {raw.place, key, "nothing after the key", allowed_values(spec), next_for(spec, "")});
    } else if (!raw.text.empty() && !fits(spec, raw.text)) {
      problems_.push_back(
          {raw.place, key, host::quoted(raw.text), allowed_values(spec), next_for(spec, raw.text)});
    } else {
      values_[key] = {spec.type, raw.text, raw.place};
    }
  }

  static std::string next_for(const KeySpec& spec, const std::string& text) {
    const auto meant = text.empty() ? std::string() : nearest(text, spec.allowed);
    if (!meant.empty()) return "did you mean " + meant + "?";
    if (spec.fallback && !spec.fallback->empty())
      return "correct it, or remove the line for the default " + *spec.fallback;
    return "correct it";
  }

  void missing(const std::string& key, const KeySpec& spec) {
    problems_.push_back({raw_.place, key, "nothing", allowed_values(spec), "set it: " + spec.help});
  }

  void two_secrets(const std::string& key, const RawValue& raw, const RawValue& file) {
    problems_.push_back({raw.place, key, "the secret and, at " + file.place + ", a file for it",
                         "one of the two", "remove one of the two lines"});
  }

  void secret_from_file(const std::string& key, const RawValue& file) {
    if (file.broken) return;
    Problems faults;
    auto text = read_text_file(file.text, kMaxSecretBytes, "the file with the secret", faults);
    // Editors and `echo` end the file with a newline that is no part of the secret.
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    for (const auto& fault : faults) {
      problems_.push_back({file.place, key + std::string(kFileSuffix),
                           host::quoted(file.text) + ", " + fault.found, fault.needed, fault.next});
    }
    if (!faults.empty()) return;
    if (text.empty()) {
      problems_.push_back({file.place, key + std::string(kFileSuffix),
                           host::quoted(file.text) + ", an empty file", "the file with the secret",
                           "write the secret into the file"});
    } else {
      values_[key] = {KeyType::Secret, std::move(text), file.place};
    }
  }

  const RawConfig& raw_;
  Problems& problems_;
  DeclaredKeys declared_;
  std::map<std::string, CheckedValue, std::less<>> values_;
};

std::chrono::milliseconds to_duration(std::string_view key, std::int64_t number) {
  if (key.ends_with("_ms")) return std::chrono::milliseconds(number);
  if (key.ends_with("_seconds")) return std::chrono::seconds(number);
  throw std::logic_error("the key " + std::string(key) +
                         " is no duration: its name ends neither in _ms nor in _seconds");
}

class Section : public Config {
 public:
  Section(const CheckedConfig& config, const Manifest& plugin)
      : config_(config), plugin_(plugin.name), host_keys_(plugin.host_keys) {
    for (const auto& key : plugin.config) own_keys_.push_back(key.name);
  }

  std::string text(std::string_view key) const override { return config_.text(full(key)); }
  std::int64_t integer(std::string_view key) const override { return config_.integer(full(key)); }
  bool flag(std::string_view key) const override { return config_.flag(full(key)); }
  std::vector<std::string> list(std::string_view key) const override { return config_.list(full(key)); }
  std::chrono::milliseconds duration(std::string_view key) const override {
    return config_.duration(full(key));
  }

 private:
  std::string full(std::string_view key) const {
    const auto is_key = [&](const std::string& name) { return name == key; };
    if (std::any_of(own_keys_.begin(), own_keys_.end(), is_key)) return plugin_ + "." + std::string(key);
    if (std::any_of(host_keys_.begin(), host_keys_.end(), is_key)) return std::string(key);
    throw std::logic_error("the plugin " + plugin_ + " reads the key " + std::string(key) +
                           ", which its manifest does not declare");
  }

  const CheckedConfig& config_;
  const std::string plugin_;
  const std::vector<std::string> host_keys_;
  std::vector<std::string> own_keys_;
};

}  // namespace

CheckedConfig CheckedConfig::check(const RawConfig& raw, std::span<const Manifest> selected,
                                   std::span<const Manifest> installed, Problems& problems) {
  Checker checker(raw, problems);
  for (const auto& manifest : installed) checker.declare(manifest, false);
  for (const auto& manifest : selected) checker.declare(manifest, true);
  checker.declare(host_manifest(), true);
  CheckedConfig config;
  config.values_ = checker.run();
  return config;
}

const CheckedValue* CheckedConfig::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

const CheckedValue& CheckedConfig::require(std::string_view key, std::initializer_list<KeyType> types) const {
  const auto* value = find(key);
  if (!value) throw std::logic_error("the configuration key " + std::string(key) + " is not declared");
  if (std::find(types.begin(), types.end(), value->type) != types.end()) return *value;
  throw std::logic_error("the configuration key " + std::string(key) +
                         " is read with another type than its own, " + std::string(to_string(value->type)));
}

std::string CheckedConfig::text(std::string_view key) const {
  return require(key, {KeyType::String, KeyType::Choice, KeyType::Path, KeyType::Secret}).text;
}

std::int64_t CheckedConfig::integer(std::string_view key) const {
  return parse_integer(require(key, {KeyType::Integer}).text).value();
}

bool CheckedConfig::flag(std::string_view key) const {
  return require(key, {KeyType::Boolean}).text == "true";
}

std::vector<std::string> CheckedConfig::list(std::string_view key) const {
  return split_list(require(key, {KeyType::List}).text);
}

std::chrono::milliseconds CheckedConfig::duration(std::string_view key) const {
  return to_duration(key, integer(key));
}

std::unique_ptr<Config> CheckedConfig::section(const Manifest& plugin) const {
  return std::make_unique<Section>(*this, plugin);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const auto comma = text.find(',');
    auto item = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const auto first = item.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) continue;
    items.emplace_back(item.substr(first, item.find_last_not_of(" \t\r\n") - first + 1));
  }
  return items;
}

}  // namespace penstock::host
