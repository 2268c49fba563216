#include "host/escape.hpp"
#include "host/plugins/manifest.hpp"

#include "penstock/json.hpp"

namespace penstock::host {
namespace {

void append(json::Writer& writer, const json::Value& value);

void append_members(json::Writer& writer, const json::Object& members) {
  writer.begin_object();
  for (const auto& [name, member] : members) append(writer.key(name), member);
  writer.end_object();
}

void append_elements(json::Writer& writer, const json::Array& elements) {
  writer.begin_array();
  for (const auto& element : elements) append(writer, element);
  writer.end_array();
}

void append(json::Writer& writer, const json::Value& value) {
  if (const auto* text = value.as_string())
    writer.string(*text);
  else if (const auto* number = value.as_integer())
    writer.integer(*number);
  else if (const auto* flag = value.as_bool())
    writer.boolean(*flag);
  else if (const auto* members = value.as_object())
    append_members(writer, *members);
  else if (const auto* elements = value.as_array())
    append_elements(writer, *elements);
  else
    writer.string(value.kind());  // a manifest has no other kinds
}

std::string text_of(const json::Value* value) {
  if (!value) return "nothing";
  json::Writer writer;
  append(writer, *value);
  return printable(shortened(writer.take(), kMaxQuoted));
}

class Comparison {
 public:
  explicit Comparison(std::string place) : place_(std::move(place)) {}

  void members(const json::Value& beside, const json::Value& compiled_in, const std::string& prefix) {
    for (const auto& [name, value] : *beside.as_object()) {
      member(prefix + name, &value, compiled_in.find(name));
    }
    for (const auto& [name, value] : *compiled_in.as_object()) {
      if (!beside.find(name)) member(prefix + name, nullptr, &value);
    }
  }

  Problems take() { return std::move(problems_); }

 private:
  void member(const std::string& name, const json::Value* beside, const json::Value* compiled_in) {
    const auto* left = beside ? beside->as_array() : nullptr;
    const auto* right = compiled_in ? compiled_in->as_array() : nullptr;
    if (left && right && have_keys(*left) && have_keys(*right)) return keys(name, *left, *right);
    if (text_of(beside) == text_of(compiled_in)) return;
    problems_.push_back({place_, name, text_of(beside), text_of(compiled_in) + ", as the library says itself",
                         "reinstall the plugin: manifest and library are not of one build"});
  }

  // Null when the element is no object with a key.
  static const std::string* key_of(const json::Value& element) {
    const auto* key = element.find("key");
    return key ? key->as_string() : nullptr;
  }

  static bool have_keys(const json::Array& elements) {
    for (const auto& element : elements) {
      if (!key_of(element)) return false;
    }
    return true;
  }

  void keys(const std::string& name, const json::Array& beside, const json::Array& compiled_in) {
    for (const auto& element : beside) {
      const auto& key = *key_of(element);
      const auto* other = find(compiled_in, key);
      if (other)
        members(element, *other, name + "[" + key + "].");
      else
        member(name + "[" + key + "]", &element, nullptr);
    }
    for (const auto& element : compiled_in) {
      const auto& key = *key_of(element);
      if (!find(beside, key)) member(name + "[" + key + "]", nullptr, &element);
    }
  }

  static const json::Value* find(const json::Array& elements, const std::string& key) {
    for (const auto& element : elements) {
      if (*key_of(element) == key) return &element;
    }
    return nullptr;
  }

  const std::string place_;
  Problems problems_;
};

}  // namespace

Problems manifest_differences(std::string_view beside, std::string_view compiled_in,
                              const std::string& place) {
  const auto left = json::parse(beside);
  const auto right = json::parse(compiled_in);
  if (!left || !left->as_object() || !right || !right->as_object()) {
    return {{place, "the manifest compiled into the library", "no JSON object", "the text of this file",
             "rebuild or reinstall the plugin"}};
  }
  Comparison comparison(place);
  comparison.members(*left, *right, "");
  return comparison.take();
}

}  // namespace penstock::host
