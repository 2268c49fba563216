// A folder of the test's own below the system's temporary folder, removed with its content.
#pragma once

#include <filesystem>

namespace penstock::testkit {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace penstock::testkit
