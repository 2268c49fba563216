#include "host/config/expansion.hpp"

#include <Poco/AutoPtr.h>
#include <Poco/Util/SystemConfiguration.h>

#include <optional>

namespace penstock::host {
namespace {

constexpr std::string_view kSystem = "system.";
constexpr std::string_view kEnvironment = "system.env.";
constexpr int kMaxDepth = 8;

struct Fault {
  std::string found;
  std::string needed;
  std::string next;
};

class Expander {
 public:
  explicit Expander(const RawConfig& raw) : raw_(raw) {}

  // Empty when the text has a fault, which then stands in `fault`.
  std::optional<std::string> expand(std::string_view text, std::optional<Fault>& fault, int depth) const {
    std::string out;
    for (;;) {
      const auto open = text.find("${");
      out += text.substr(0, open);
      if (open == std::string_view::npos) return out;
      const auto close = text.find('}', open);
      if (close == std::string_view::npos) {
        fault = Fault{"\"${\" without \"}\"", "${NAME}", "close the reference"};
        return std::nullopt;
      }
      const auto value = resolve(std::string(text.substr(open + 2, close - open - 2)), fault, depth);
      if (!value) return std::nullopt;
      out += *value;
      text.remove_prefix(close + 1);
    }
  }

 private:
  std::optional<std::string> resolve(const std::string& name, std::optional<Fault>& fault, int depth) const {
    if (name.starts_with(kSystem)) return from_system(name, fault);
    const auto other = raw_.values.find(name);
    if (other == raw_.values.end()) {
      fault = Fault{"a reference to the key " + host::quoted(name) + ", which is not set",
                    "a key that is set, or system.env.NAME", "set that key or correct the reference"};
      return std::nullopt;
    }
    if (depth == kMaxDepth) {
      fault = Fault{"references in a circle, or more than " + std::to_string(kMaxDepth) + " deep",
                    "a reference that ends in a value", "write the value itself"};
      return std::nullopt;
    }
    return expand(other->second.text, fault, depth + 1);
  }

  std::optional<std::string> from_system(const std::string& name, std::optional<Fault>& fault) const {
    if (system_->hasProperty(name)) return system_->getRawString(name);
    if (name.starts_with(kEnvironment)) {
      const auto variable = host::quoted(name.substr(kEnvironment.size()));
      fault = Fault{"the environment variable " + variable + ", which is not set", "one that is set",
                    "export it before starting penstock"};
    } else {
      fault = Fault{"the reference " + host::quoted(name), "system.env.NAME", "correct the reference"};
    }
    return std::nullopt;
  }

  const RawConfig& raw_;
  Poco::AutoPtr<Poco::Util::SystemConfiguration> system_{new Poco::Util::SystemConfiguration};
};

}  // namespace

void expand_references(RawConfig& raw) {
  auto expanded = raw.values;
  const Expander expander(raw);
  for (auto& [key, value] : expanded) {
    std::optional<Fault> fault;
    auto text = expander.expand(value.text, fault, 0);
    value.broken = fault.has_value();
    if (fault)
      raw.problems.push_back({value.place, key, fault->found, fault->needed, fault->next});
    else
      value.text = std::move(*text);
  }
  raw.values = std::move(expanded);
}

}  // namespace penstock::host
