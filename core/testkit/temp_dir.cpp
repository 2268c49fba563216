#include "penstock/testkit/temp_dir.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace penstock::testkit {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "penstock-test-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot create a folder like " + pattern);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace penstock::testkit
