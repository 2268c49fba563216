#include "cli/description.hpp"

#include "host/config/value_check.hpp"

#include "penstock/json.hpp"

#include <algorithm>
#include <ostream>

namespace penstock::cli {
namespace {

std::string full_name(const host::Manifest& manifest, const host::KeySpec& key) {
  return manifest.name.empty() ? key.name : manifest.name + "." + key.name;
}

std::string title_of(const host::Manifest& manifest) {
  return manifest.name.empty() ? "host" : manifest.name;
}

void append(json::Writer& writer, std::string_view name, const std::vector<std::string>& values) {
  writer.key(name).begin_array();
  for (const auto& value : values) writer.string(value);
  writer.end_array();
}

void append_head(json::Writer& writer, const std::string& name, const host::Manifest& manifest) {
  writer.key("name")
      .string(name)
      .key("version")
      .string(manifest.version)
      .key("summary")
      .string(manifest.summary);
  append(writer, "provides", manifest.provides);
  append(writer, "requires", manifest.requires_);
}

void append(json::Writer& writer, const std::string& name, const host::KeySpec& key) {
  writer.begin_object().key("key").string(name).key("type").string(host::to_string(key.type));
  writer.key("required").boolean(key.required());
  if (key.fallback) writer.key("default").string(*key.fallback);
  if (key.min != INT64_MIN) writer.key("min").integer(key.min);
  if (key.max != INT64_MAX) writer.key("max").integer(key.max);
  if (!key.allowed.empty()) append(writer, "allowed", key.allowed);
  writer.key("help").string(key.help).end_object();
}

std::string default_of(const host::KeySpec& key) {
  if (key.required()) return "required";
  return "default " + (key.fallback->empty() ? std::string("empty") : *key.fallback);
}

}  // namespace

void print(const host::Catalogue& catalogue, std::ostream& out) {
  std::size_t width = 0;
  for (const auto& plugin : catalogue.plugins) width = std::max(width, plugin.name().size());
  out << "plugins in " << catalogue.folder.string() << ":\n";
  for (const auto& plugin : catalogue.plugins) {
    const auto& manifest = plugin.manifest;
    out << "  " << plugin.name() << std::string(width - plugin.name().size() + 2, ' ') << manifest.version
        << "  " << manifest.summary << '\n'
        << "      provides " << host::joined(manifest.provides) << "; requires "
        << host::joined(manifest.requires_) << '\n';
    for (const auto& problem : plugin.problems)
      out << "      cannot be loaded: " << host::to_text(problem) << '\n';
  }
}

std::string to_json(const host::Catalogue& catalogue) {
  json::Writer writer;
  writer.begin_object().key("plugins").begin_array();
  for (const auto& plugin : catalogue.plugins) {
    writer.begin_object();
    append_head(writer, plugin.name(), plugin.manifest);
    writer.key("library").string(plugin.library.string());
    std::vector<std::string> problems;
    for (const auto& problem : plugin.problems) problems.push_back(host::to_text(problem));
    append(writer, "problems", problems);
    writer.end_object();
  }
  return writer.end_array().end_object().take();
}

void print(const host::Manifest& manifest, std::ostream& out) {
  out << title_of(manifest) << ' ' << manifest.version << ": " << manifest.summary << '\n'
      << "provides: " << host::joined(manifest.provides) << '\n'
      << "requires: " << host::joined(manifest.requires_) << '\n'
      << "keys:" << (manifest.config.empty() ? " none\n" : "\n");
  for (const auto& key : manifest.config) {
    out << "  " << full_name(manifest, key) << '\n'
        << "      " << host::to_string(key.type) << ": " << host::allowed_values(key) << "; "
        << default_of(key) << '\n'
        << "      " << key.help << '\n';
  }
}

std::string to_json(const host::Manifest& manifest) {
  json::Writer writer;
  writer.begin_object();
  append_head(writer, title_of(manifest), manifest);
  writer.key("keys").begin_array();
  for (const auto& key : manifest.config) append(writer, full_name(manifest, key), key);
  return writer.end_array().end_object().take();
}

}  // namespace penstock::cli
