#include "load/arguments.hpp"

#include <charconv>
#include <cstdio>
#include <stdexcept>

namespace penstock::load {

void Arguments::text(std::string name, std::string& value, std::string help) {
  options_.push_back({std::move(name), " TEXT", std::move(help), value,
                      [&value](const std::string& text) { value = text; }});
}

void Arguments::number(std::string name, std::int64_t& value, std::int64_t min, std::int64_t max,
                       std::string help) {
  const auto take = [name, &value, min, max](const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (!whole || number < min || number > max) {
      throw std::invalid_argument("--" + name + " is \"" + text + "\"; allowed: " + std::to_string(min) +
                                  " to " + std::to_string(max));
    }
    value = number;
  };
  options_.push_back({std::move(name), " N", std::move(help), std::to_string(value), take});
}

void Arguments::toggle(std::string name, bool& value, std::string help) {
  options_.push_back(
      {std::move(name), "", std::move(help), "", [&value](const std::string&) { value = true; }});
}

bool Arguments::parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(help().c_str(), stdout);
      return false;
    }
    const auto equals = argument.find('=');
    const Option& option = find(std::string_view(argument).substr(0, equals));
    if (option.shape.empty()) {
      if (equals != std::string::npos) throw std::invalid_argument("--" + option.name + " takes no value");
      option.take("");
    } else if (equals != std::string::npos) {
      option.take(argument.substr(equals + 1));
    } else if (i + 1 < argc) {
      option.take(argv[++i]);
    } else {
      throw std::invalid_argument("--" + option.name + " needs a value");
    }
  }
  return true;
}

const Arguments::Option& Arguments::find(std::string_view name) const {
  for (const auto& option : options_) {
    if (name == "--" + option.name) return option;
  }
  throw std::invalid_argument("unknown option " + std::string(name) + "; see " + program_ + " --help");
}

std::string Arguments::help() const {
  std::string text = "usage: " + program_ + " [OPTION]...\n\n" + summary_ + "\n\n";
  for (const auto& option : options_) {
    std::string line = "  --" + option.name + option.shape;
    line.resize(std::max<std::size_t>(line.size() + 2, 26), ' ');
    text += line + option.help;
    if (!option.initial.empty()) text += " [" + option.initial + "]";
    text += "\n";
  }
  return text + "  --help                  Prints this.\n";
}

}  // namespace penstock::load
