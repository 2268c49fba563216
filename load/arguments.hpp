// Command-line options of the load programs: `--name value`, `--name=value`, `--switch`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::load {

class Arguments {
 public:
  Arguments(std::string program, std::string summary)
      : program_(std::move(program)), summary_(std::move(summary)) {}

  // The variable holds the default, which --help shows, and receives the value.
  void text(std::string name, std::string& value, std::string help);
  void number(std::string name, std::int64_t& value, std::int64_t min, std::int64_t max, std::string help);
  void toggle(std::string name, bool& value, std::string help);

  // Throws std::invalid_argument that says what was found and what is allowed.
  // False: help was asked for and printed.
  bool parse(int argc, char** argv);
  std::string help() const;

 private:
  struct Option {
    std::string name;
    std::string shape;
    std::string help;
    std::string initial;
    std::function<void(const std::string&)> take;
  };
  const Option& find(std::string_view name) const;

  const std::string program_;
  const std::string summary_;
  std::vector<Option> options_;
};

}  // namespace penstock::load
