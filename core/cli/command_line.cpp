#include "cli/command_line.hpp"

#include "host/nearest.hpp"
#include "host/problem.hpp"

#include <algorithm>

namespace penstock::cli {
namespace {

constexpr OptionSpec kCommonOptions[] = {{"-c", "FILE", ""},         {"--config", "FILE", ""},
                                         {"--set", "KEY=VALUE", ""}, {"--json", "", ""},
                                         {"--help", "", ""},         {"-h", "", ""}};

std::size_t word_count(std::string_view name) {
  return name.find(' ') == std::string_view::npos ? 1 : 2;
}

class Parser {
 public:
  Parser(std::span<const Command* const> commands, const std::vector<std::string>& words, std::ostream& out,
         std::ostream& err)
      : commands_(commands), words_(words), invocation_{.out = out, .err = err} {}

  CommandLine parse() {
    if (words_.empty()) return fail("no command was given");
    if (words_[0] == "--help" || words_[0] == "-h" || words_[0] == "help") return help_of_help();
    if (words_[0] == "--version") return {.version = true};
    const auto* command = find_command(0);
    if (!command) return unknown_command();
    line_.command = command;
    invocation_.command = command;
    next_ = word_count(command->name);
    while (next_ < words_.size() && line_.error.empty()) take();
    if (line_.help)
      line_.error.clear();
    else if (line_.error.empty())
      finish();
    return std::move(line_);
  }

 private:
  const Command* find_command(std::size_t first) const {
    const auto left = words_.size() - first;
    const auto named = [&](const std::string& name) -> const Command* {
      const auto found = std::find_if(commands_.begin(), commands_.end(),
                                      [&](const Command* command) { return command->name == name; });
      return found == commands_.end() ? nullptr : *found;
    };
    if (left >= 2) {
      if (const auto* command = named(words_[first] + " " + words_[first + 1])) return command;
    }
    return left >= 1 ? named(words_[first]) : nullptr;
  }

  CommandLine help_of_help() { return {.help = true, .command = find_command(1)}; }

  CommandLine fail(std::string error) { return {.error = std::move(error)}; }

  CommandLine unknown_command() {
    std::vector<std::string> names;
    for (const auto* command : commands_) names.emplace_back(command->name);
    const auto text =
        words_.size() > 1 && !words_[1].starts_with('-') ? words_[0] + " " + words_[1] : words_[0];
    auto meant = host::nearest(text, names);
    if (meant.empty()) meant = host::nearest(words_[0], names);
    if (meant.empty()) meant = same_group();
    return fail("found " + host::quoted(words_[0]) + ", which is no command" +
                (meant.empty() ? "" : "; did you mean " + meant + "?"));
  }

  // `penstock stock` alone: name the commands that begin with this word.
  std::string same_group() const {
    std::vector<std::string> names;
    for (const auto* command : commands_) {
      if (command->name.starts_with(words_[0] + " ")) names.emplace_back(command->name);
    }
    return names.empty() ? "" : host::joined(names);
  }

  void take() {
    const auto& word = words_[next_++];
    if (only_arguments_ || word.size() < 2 || word[0] != '-')
      invocation_.arguments.push_back(word);
    else if (word == "--")
      only_arguments_ = true;
    else
      take_option(word);
  }

  void take_option(const std::string& word) {
    const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const auto name = word.substr(0, equals);
    const auto* spec = find_option(name);
    if (!spec) return unknown_option(name);
    if (spec->value.empty()) {
      if (equals != std::string::npos) line_.error = name + " takes no value";
      return set(name, "");
    }
    if (equals != std::string::npos) return set(name, word.substr(equals + 1));
    if (next_ == words_.size()) {
      line_.error = name + " needs a value, " + std::string(spec->value);
      return;
    }
    set(name, words_[next_++]);
  }

  const OptionSpec* find_option(const std::string& name) const {
    for (const auto& option : invocation_.command->options) {
      if (option.name == name) return &option;
    }
    for (const auto& option : kCommonOptions) {
      if (option.name == name) return &option;
    }
    return nullptr;
  }

  void unknown_option(const std::string& name) {
    std::vector<std::string> names;
    for (const auto& option : invocation_.command->options) names.emplace_back(option.name);
    for (const auto& option : kCommonOptions) names.emplace_back(option.name);
    const auto meant = host::nearest(name, names);
    line_.error = "found " + host::quoted(name) + ", which is no option of " +
                  std::string(invocation_.command->name) +
                  (meant.empty() ? "" : "; did you mean " + meant + "?");
  }

  void set(const std::string& name, const std::string& value) {
    if (name == "-c" || name == "--config")
      invocation_.sources.files.emplace_back(value);
    else if (name == "--set")
      invocation_.sources.overrides.push_back(value);
    else if (name == "--json")
      invocation_.json = true;
    else if (name == "--help" || name == "-h")
      line_.help = true;
    else
      invocation_.options[name] = value;
  }

  void finish() {
    const auto& command = *invocation_.command;
    const auto count = invocation_.arguments.size();
    if (count < command.min_arguments || count > command.max_arguments) {
      line_.error = "found " + std::to_string(count) + (count == 1 ? " argument" : " arguments") +
                    ", needed " + (command.arguments.empty() ? "none" : std::string(command.arguments));
      return;
    }
    invocation_.installation = host::Installation::of_this_program();
    line_.invocation.emplace(std::move(invocation_));
  }

  const std::span<const Command* const> commands_;
  const std::vector<std::string>& words_;
  Invocation invocation_;
  CommandLine line_;
  std::size_t next_ = 0;
  bool only_arguments_ = false;
};

}  // namespace

CommandLine parse_command_line(std::span<const Command* const> commands,
                               const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  return Parser(commands, words, out, err).parse();
}

}  // namespace penstock::cli
