// A child process of a test, with its output in files, killed at the end of its scope.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace penstock::testkit {

class Process {
 public:
  // `environment` entries ("NAME=value") are added to the test's own. Output goes to folder/out and
  // folder/err.
  Process(const std::vector<std::string>& command, const std::filesystem::path& folder,
          const std::vector<std::string>& environment);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // The exit status, 128 + the signal that ended it, or -1 when it still runs at the limit.
  int wait(std::chrono::milliseconds limit);
  bool running();
  std::string out() const;
  std::string err() const;

 private:
  pid_t pid_ = -1;
  int status_ = -1;
  const std::filesystem::path out_;
  const std::filesystem::path err_;
};

}  // namespace penstock::testkit
