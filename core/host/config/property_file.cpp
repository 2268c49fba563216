#include "host/config/property_file.hpp"

#include <Poco/AutoPtr.h>
#include <Poco/Util/PropertyFileConfiguration.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

namespace penstock::host {
namespace {

// Poco knows the keys but not their lines, and keeps the last of two equal keys without a word.
class PocoProperties : public Poco::Util::PropertyFileConfiguration {
 public:
  explicit PocoProperties(std::istream& stream) : PropertyFileConfiguration(stream) {}
  std::map<std::string, std::string> values() const { return {begin(), end()}; }

 protected:
  ~PocoProperties() override = default;
};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\f\v");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\f\v") - first + 1);
}

// A backslash before the line's end joins the next line, unless it is itself escaped.
bool continues(const std::string& line) {
  std::size_t backslashes = 0;
  while (backslashes < line.size() && line[line.size() - 1 - backslashes] == '\\') ++backslashes;
  return backslashes % 2 == 1;
}

class LineIndex {
 public:
  LineIndex(std::string place, Problems& problems) : place_(std::move(place)), problems_(problems) {}

  void read(const std::string& text) {
    std::istringstream stream(text);
    bool continued = false;
    for (std::string line; std::getline(stream, line);) {
      ++number_;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      const bool starts_here = !continued && is_entry(line);
      if (starts_here) entry(line);
      continued = (starts_here || continued) && continues(line);
    }
  }

  const std::map<std::string, int>& lines() const { return lines_; }

 private:
  static bool is_entry(const std::string& line) {
    const auto text = trimmed(line);
    return !text.empty() && text[0] != '#' && text[0] != '!';
  }

  void entry(const std::string& line) {
    const auto separator = line.find_first_of("=:");
    const auto key = trimmed(line.substr(0, separator));
    if (separator == std::string::npos || key.empty()) {
      problem(number_, separator == std::string::npos ? "a line without \"=\"" : "a line without a key",
              "KEY = VALUE", "complete the line, or put # before it");
      return;
    }
    const auto [seen, is_new] = lines_.emplace(key, number_);
    if (is_new) return;
    problems_.push_back({place_ + ":" + std::to_string(number_), key,
                         "the key a second time, first on line " + std::to_string(seen->second),
                         "each key once in a file", "remove one of the two lines"});
  }

  void problem(int line, std::string found, std::string needed, std::string next) {
    problems_.push_back(
        {place_, "line " + std::to_string(line), std::move(found), std::move(needed), std::move(next)});
  }

  const std::string place_;
  Problems& problems_;
  std::map<std::string, int> lines_;
  int number_ = 0;
};

bool is_text(const std::string& text, const std::string& place, Problems& problems) {
  const auto nul = text.find('\0');
  if (nul == std::string::npos) return true;
  problems.push_back({place, "byte " + std::to_string(nul), "a NUL byte", "a text file",
                      "check that this is the file you meant"});
  return false;
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path, std::size_t max_bytes, const std::string& what,
                           Problems& problems) {
  const auto refuse = [&](std::string found) {
    problems.push_back({path.string(), "the file", std::move(found),
                        what + " of at most " + std::to_string(max_bytes) + " bytes",
                        "check the path and its permissions"});
    return std::string();
  };
  std::error_code ignored;
  // Opening a folder succeeds; it would read as an empty file.
  if (std::filesystem::is_directory(path, ignored)) return refuse("a folder");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return refuse("no readable file (" + std::string(std::strerror(errno)) + ")");
  std::string text(max_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return refuse("a file that cannot be read (" + std::string(std::strerror(errno)) + ")");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > max_bytes) return refuse("more bytes");
  return text;
}

std::vector<Property> read_property_file(const std::filesystem::path& path, Problems& problems) {
  const auto before = problems.size();
  const auto text = read_text_file(path, kMaxPropertyFileBytes, "a properties file", problems);
  if (problems.size() != before || !is_text(text, path.string(), problems)) return {};

  LineIndex index(path.string(), problems);
  index.read(text);
  std::istringstream stream(text);
  const Poco::AutoPtr<PocoProperties> poco(new PocoProperties(stream));
  std::vector<Property> properties;
  for (auto& [key, value] : poco->values()) {
    const auto line = index.lines().find(key);
    if (line != index.lines().end()) properties.push_back({key, value, line->second});
  }
  return properties;
}

}  // namespace penstock::host
