// Dependencies point one way: plugins on the SDK (and core/sql), host and cli on the SDK, nothing on a
// plugin. This test reads the include lines.
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

struct Include {
  std::string file;  // relative to the project
  int line = 0;
  std::string target;  // as written: <vector> or "penstock/json.hpp"
};

std::vector<Include> includes_of(const std::string& file, std::istream& in) {
  std::vector<Include> found;
  std::string text;
  for (int line = 1; std::getline(in, text); ++line) {
    if (!text.starts_with("#include ")) continue;
    auto target = text.substr(9);
    const char close = target.front() == '<' ? '>' : '"';
    target.erase(target.find(close, 1) + 1);
    found.push_back({file, line, target});
  }
  return found;
}

std::vector<Include> includes_below(const fs::path& root, const std::string& room) {
  std::vector<Include> found;
  for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
    const auto extension = entry.path().extension();
    if (extension != ".hpp" && extension != ".cpp") continue;
    std::ifstream in(entry.path());
    auto some = includes_of(fs::relative(entry.path(), root).string(), in);
    found.insert(found.end(), some.begin(), some.end());
  }
  return found;
}

bool is_standard(const std::string& target) {
  return target.starts_with('<') && target.find_first_of("./") == std::string::npos;
}

bool is_quoted_from(const std::string& target, const std::vector<std::string>& rooms) {
  return std::any_of(rooms.begin(), rooms.end(),
                     [&](const std::string& room) { return target.starts_with('"' + room + '/'); });
}

// The quoted includes of a room may come from these rooms only. Tests may use the test kit besides.
std::string breaches(const std::vector<Include>& includes, const std::vector<std::string>& allowed) {
  std::ostringstream out;
  for (const auto& include : includes) {
    if (!include.target.starts_with('"') || is_quoted_from(include.target, allowed)) continue;
    out << include.file << ':' << include.line << " includes " << include.target << '\n';
  }
  return out.str();
}

std::string not_standard(const std::vector<Include>& includes) {
  std::ostringstream out;
  for (const auto& include : includes) {
    if (is_standard(include.target) || is_quoted_from(include.target, {"penstock"})) continue;
    out << include.file << ':' << include.line << " includes " << include.target << '\n';
  }
  return out.str();
}

}  // namespace

class IncludeRulesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IncludeRulesTest);
  CPPUNIT_TEST(the_sdk_uses_std_types_only);
  CPPUNIT_TEST(plugins_include_the_sdk_and_never_each_other);
  CPPUNIT_TEST(core_rooms_depend_one_way);
  CPPUNIT_TEST(a_breach_would_be_found);
  CPPUNIT_TEST_SUITE_END();

 public:
  void the_sdk_uses_std_types_only() {
    // A library in an SDK header would become a library of every plugin author.
    auto includes = includes_below(kRoot, "core/include/penstock");
    std::erase_if(includes, [](const Include& i) { return i.file.find("/testkit/") != std::string::npos; });
    CPPUNIT_ASSERT(includes.size() > 50);
    CPPUNIT_ASSERT_EQUAL(std::string(), not_standard(includes));
  }

  void plugins_include_the_sdk_and_never_each_other() {
    // Plugins meet in service interfaces; an include would tie their builds and releases together.
    std::size_t plugins = 0;
    for (const auto& entry : fs::directory_iterator(kRoot / "plugins")) {
      if (!entry.is_directory()) continue;
      ++plugins;
      const auto name = entry.path().filename().string();
      const auto found = breaches(includes_below(kRoot, "plugins/" + name), {"penstock", "sql", name});
      CPPUNIT_ASSERT_EQUAL(std::string(), found);
    }
    CPPUNIT_ASSERT(plugins >= 9);
  }

  void core_rooms_depend_one_way() {
    // Core never knows a plugin; the lower rooms never know the higher.
    const auto check = [](const std::string& room, const std::vector<std::string>& allowed) {
      const auto includes = includes_below(kRoot, room);
      CPPUNIT_ASSERT_MESSAGE(room, !includes.empty());
      CPPUNIT_ASSERT_EQUAL(std::string(), breaches(includes, allowed));
    };
    check("core/sdk", {"penstock"});
    check("core/sql", {"penstock", "sql"});
    check("core/testkit", {"penstock"});
    check("core/host", {"penstock", "host"});
    check("core/cli", {"penstock", "host", "cli"});
    check("load", {"penstock", "load"});
  }

  void a_breach_would_be_found() {
    // The rules above must be able to fail.
    std::istringstream text(
        "#include \"stock_memory/gate.hpp\"\n#include <Poco/Util/Application.h>\n#include <map>\n");
    const auto includes = includes_of("plugins/x/y.cpp", text);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, includes.size());
    CPPUNIT_ASSERT_EQUAL(std::string("plugins/x/y.cpp:1 includes \"stock_memory/gate.hpp\"\n"),
                         breaches(includes, {"penstock", "sql", "x"}));
    CPPUNIT_ASSERT(not_standard(includes).find("Poco") != std::string::npos);
    CPPUNIT_ASSERT(not_standard(includes).find("<map>") == std::string::npos);
  }

 private:
  inline static const fs::path kRoot = PENSTOCK_SOURCE_DIR;
};

CPPUNIT_TEST_SUITE_REGISTRATION(IncludeRulesTest);
