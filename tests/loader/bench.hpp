// Bench: a folder with plugins and a configuration of the test's own, and the real program run on it.
#pragma once

#include "penstock/testkit/process.hpp"

#include "penstock/testkit/temp_dir.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace penstock::loader_test {

class Bench {
 public:
  Bench();

  const std::filesystem::path& root() const { return folder_.path(); }
  std::filesystem::path plugin(const std::string& file) const { return root() / "plugins" / file; }

  // Copies a fixture's manifest and library under another file name.
  void install(const std::string& fixture, const std::string& as);
  // Replaces a text in an installed file; it must be there.
  void edit(const std::string& file, const std::string& from, const std::string& to);
  // A manifest of this build without a library of its own: that of `good` is put beside it.
  void declare(const std::string& name, const std::string& provides, const std::string& needs);

  // `settings` are lines of the configuration, beside what every one of these needs.
  void configure(const std::string& settings);
  std::filesystem::path configuration() const { return root() / "test.properties"; }

  std::unique_ptr<testkit::Process> start(std::vector<std::string> words,
                                          const std::vector<std::string>& environment = {}) const;
  // Runs to the end; the exit status is asserted. Returns standard error.
  std::string run(const std::vector<std::string>& words, int expected_status) const;
  std::string life() const;  // what the fixture `good` wrote

 private:
  testkit::TempDir folder_;
};

std::string read_file(const std::filesystem::path& path);
// One line has all of these; the failure shows the text.
void assert_line(const std::string& text, const std::vector<std::string>& parts);

}  // namespace penstock::loader_test
