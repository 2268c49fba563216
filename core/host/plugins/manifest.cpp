#include "host/plugins/manifest.hpp"

#include "host/build_info.hpp"
#include "host/config/value_check.hpp"
#include "host/plugins/manifest_reader.hpp"

#include "penstock/json.hpp"

#include <cassert>
#include <set>

namespace penstock::host {
namespace {

constexpr std::pair<std::string_view, KeyType> kTypes[] = {
    {"string", KeyType::String}, {"choice", KeyType::Choice},   {"path", KeyType::Path},
    {"secret", KeyType::Secret}, {"integer", KeyType::Integer}, {"boolean", KeyType::Boolean},
    {"list", KeyType::List},
};

std::string type_names() {
  std::vector<std::string> names;
  for (const auto& [name, type] : kTypes) names.emplace_back(name);
  return joined(names);
}

KeyType read_type(ObjectReader& reader) {
  const auto name = reader.text("type");
  for (const auto& [type_name, type] : kTypes) {
    if (name == type_name) return type;
  }
  if (!name.empty()) reader.refuse("type", host::quoted(name), "one of " + type_names());
  return KeyType::String;
}

// A default may be written as JSON knows it; inside it is text, like every value of the files.
std::optional<std::string> read_fallback(ObjectReader& reader) {
  const auto* value = reader.optional("default");
  if (!value) return std::nullopt;
  if (const auto* text = value->as_string()) return *text;
  if (const auto* number = value->as_integer()) return std::to_string(*number);
  if (const auto* flag = value->as_bool()) return *flag ? "true" : "false";
  reader.refuse("default", value->kind(), "a string, an integer or a boolean");
  return std::nullopt;
}

void check_key(const KeySpec& key, ObjectReader& reader) {
  if (key.type == KeyType::Choice && key.allowed.empty()) {
    reader.refuse("allowed", "nothing", "the values that a choice has");
  }
  if (key.min > key.max) {
    reader.refuse("min", std::to_string(key.min), "at most max, which is " + std::to_string(key.max));
  }
  if (key.fallback && !key.fallback->empty() && !fits(key, *key.fallback)) {
    reader.refuse("default", host::quoted(*key.fallback), allowed_values(key));
  }
}

KeySpec read_key(ObjectReader& reader) {
  KeySpec key;
  key.name = reader.text("key");
  reader.name_after(key.name);
  key.type = read_type(reader);
  key.fallback = read_fallback(reader);
  key.help = reader.text("help");
  if (key.type == KeyType::Integer) {
    key.min = reader.integer_or("min", INT64_MIN);
    key.max = reader.integer_or("max", INT64_MAX);
  }
  if (key.type == KeyType::Choice) key.allowed = reader.texts("allowed");
  reader.refuse_others();
  check_key(key, reader);
  return key;
}

std::vector<KeySpec> read_keys(ObjectReader& reader) {
  std::vector<KeySpec> keys;
  std::set<std::string> names;
  for (auto& element : reader.objects("config")) {
    keys.push_back(read_key(element));
    if (!names.insert(keys.back().name).second) {
      element.refuse("key", "the key " + host::quoted(keys.back().name) + " a second time", "each key once");
    }
  }
  return keys;
}

}  // namespace

std::string_view to_string(KeyType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return name;
  }
  return "";
}

Manifest parse_manifest(std::string_view text, const std::string& place, Problems& problems) {
  Manifest manifest;
  const auto parsed = json::parse(text);
  if (!parsed) {
    problems.push_back({place, "the manifest", host::quoted(parsed.error().message), "a JSON object",
                        "rebuild or reinstall the plugin"});
    return manifest;
  }
  ObjectReader reader(*parsed, place, "", problems);
  manifest.name = reader.identifier("name");
  manifest.summary = reader.text("summary");
  manifest.version = reader.text("version");
  manifest.abi = reader.integer("abi");
  manifest.fingerprint = reader.text("fingerprint");
  manifest.provides = reader.texts("provides");
  manifest.requires_ = reader.texts("requires");
  manifest.host_keys = reader.texts_or_none("host_keys");
  manifest.config = read_keys(reader);
  reader.refuse_others();
  return manifest;
}

const Manifest& host_manifest() {
  static const Manifest kManifest = [] {
    Problems problems;
    const auto parsed = json::parse(build_info().host_manifest);
    assert(parsed.ok());
    ObjectReader reader(*parsed, "core/host/host.json", "", problems);
    Manifest manifest;
    manifest.summary = reader.text("summary");
    manifest.version = build_info().version;
    manifest.abi = build_info().abi;
    manifest.fingerprint = build_info().fingerprint;
    manifest.config = read_keys(reader);
    assert(problems.empty());
    return manifest;
  }();
  return kManifest;
}

}  // namespace penstock::host
