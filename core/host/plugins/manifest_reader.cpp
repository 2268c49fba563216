#include "host/plugins/manifest_reader.hpp"

#include <algorithm>

namespace penstock::host {
namespace {

constexpr std::string_view kNext = "correct the plugin's plugin.json and rebuild it";
constexpr std::size_t kMaxIdentifier = 64;

bool is_identifier(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && text.size() <= kMaxIdentifier && text[0] >= 'a' && text[0] <= 'z' &&
         std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

ObjectReader::ObjectReader(const json::Value& value, std::string place, std::string prefix,
                           Problems& problems)
    : value_(&value), place_(std::move(place)), prefix_(std::move(prefix)), problems_(&problems) {
  if (!value_->as_object()) refuse("", value_->kind(), "an object");
}

std::string ObjectReader::text(std::string_view name) {
  const auto* value = required(name, "a string");
  if (!value) return {};
  if (const auto* text = value->as_string()) return *text;
  refuse(name, value->kind(), "a string");
  return {};
}

std::string ObjectReader::identifier(std::string_view name) {
  auto value = text(name);
  if (value.empty() || is_identifier(value)) return value;
  refuse(name, host::quoted(value), "lower-case letters, digits and _, starting with a letter");
  return {};
}

std::int64_t ObjectReader::integer(std::string_view name) {
  return required(name, "an integer") ? integer_or(name, 0) : 0;
}

std::vector<std::string> ObjectReader::texts(std::string_view name) {
  return required(name, "an array of strings") ? texts_or_none(name) : std::vector<std::string>{};
}

std::vector<ObjectReader> ObjectReader::objects(std::string_view name) {
  std::vector<ObjectReader> readers;
  const auto* value = required(name, "an array of objects");
  if (!value) return readers;
  const auto* elements = value->as_array();
  if (!elements) {
    refuse(name, value->kind(), "an array of objects");
    return readers;
  }
  for (std::size_t i = 0; i < elements->size(); ++i) {
    auto prefix = prefix_ + std::string(name) + "[" + std::to_string(i) + "].";
    readers.emplace_back((*elements)[i], place_, std::move(prefix), *problems_);
  }
  return readers;
}

std::int64_t ObjectReader::integer_or(std::string_view name, std::int64_t fallback) {
  const auto* value = optional(name);
  if (!value) return fallback;
  if (const auto* number = value->as_integer()) return *number;
  refuse(name, value->kind(), "an integer");
  return fallback;
}

std::vector<std::string> ObjectReader::texts_or_none(std::string_view name) {
  std::vector<std::string> texts;
  const auto* value = optional(name);
  if (!value) return texts;
  const auto* elements = value->as_array();
  if (!elements) {
    refuse(name, value->kind(), "an array of strings");
    return texts;
  }
  for (const auto& element : *elements) {
    if (const auto* text = element.as_string())
      texts.push_back(*text);
    else
      refuse(name, element.kind(), "strings");
  }
  return texts;
}

const json::Value* ObjectReader::optional(std::string_view name) {
  read_.emplace(name);
  return value_->find(name);
}

const json::Value* ObjectReader::required(std::string_view name, std::string_view needed) {
  const auto* value = optional(name);
  if (!value && value_->as_object()) refuse(name, "nothing", needed);
  return value;
}

void ObjectReader::refuse_others() {
  const auto* members = value_->as_object();
  if (!members) return;
  const std::vector<std::string> known(read_.begin(), read_.end());
  for (const auto& [name, value] : *members) {
    if (!read_.contains(name)) refuse(name, "an unknown member", "one of " + joined(known));
  }
}

void ObjectReader::refuse(std::string_view member, std::string_view found, std::string_view needed) {
  auto subject = prefix_ + std::string(member);
  if (!subject.empty() && subject.back() == '.') subject.pop_back();
  if (subject.empty()) subject = "the manifest";
  problems_->push_back({place_, subject, std::string(found), std::string(needed), std::string(kNext)});
}

void ObjectReader::name_after(const std::string& name) {
  const auto bracket = prefix_.rfind('[');
  if (name.empty() || bracket == std::string::npos) return;
  prefix_ = prefix_.substr(0, bracket) + "[" + name + "].";
}

}  // namespace penstock::host
