#include "host/build_info.hpp"
#include "host/plugins/catalogue.hpp"
#include "host/plugins/library_file.hpp"
#include "host/plugins/manifest.hpp"
#include "host/plugins/resolution.hpp"

#include "penstock/testkit/temp_dir.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <fstream>
#include <random>

namespace penstock::host {
namespace {

InstalledPlugin plugin(const std::string& name, std::vector<std::string> provides,
                       std::vector<std::string> needs) {
  InstalledPlugin plugin;
  plugin.manifest.name = name;
  plugin.manifest.provides = std::move(provides);
  plugin.manifest.requires_ = std::move(needs);
  plugin.manifest_file = "/plugins/" + name + ".json";
  plugin.library = "/plugins/" + name + ".so";
  return plugin;
}

std::vector<std::string> names_of(const std::vector<InstalledPlugin>& plugins) {
  std::vector<std::string> names;
  for (const auto& plugin : plugins) names.push_back(plugin.name());
  return names;
}

using Names = std::vector<std::string>;

class PluginsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginsTest);
  CPPUNIT_TEST(requirements_start_first_and_ties_go_by_name);
  CPPUNIT_TEST(missing_provider_names_those_that_could);
  CPPUNIT_TEST(two_providers_are_ambiguous);
  CPPUNIT_TEST(cycle_is_told_step_by_step);
  CPPUNIT_TEST(unknown_and_doubled_names_and_all_other_faults_come_together);
  CPPUNIT_TEST(closure_has_what_a_service_needs_and_nothing_else);
  CPPUNIT_TEST(manifest_reports_every_fault_at_once);
  CPPUNIT_TEST(manifest_that_is_no_object_is_refused);
  CPPUNIT_TEST(manifest_differences_name_the_field_and_both_values);
  CPPUNIT_TEST(own_manifest_has_help_and_defaults_that_fit);
  CPPUNIT_TEST(damaged_library_files_are_found_before_they_are_mapped);
  CPPUNIT_TEST(random_bytes_in_manifest_and_library_never_end_the_process);
  CPPUNIT_TEST_SUITE_END();

 public:
  void requirements_start_first_and_ties_go_by_name() {
    // Two runs that start in different order hide bugs in one of them.
    Catalogue catalogue{"/plugins",
                        {plugin("z_gate", {"gate"}, {}), plugin("intake", {}, {"store", "gate"}),
                         plugin("store", {"store"}, {}), plugin("audit", {}, {})},
                        {}};
    const auto resolution = resolve(catalogue, Names{"intake", "z_gate", "store", "audit"}, "x.properties:1");
    CPPUNIT_ASSERT(resolution.problems.empty());
    CPPUNIT_ASSERT((Names{"audit", "store", "z_gate", "intake"}) == names_of(resolution.plugins));
  }

  void missing_provider_names_those_that_could() {
    // The next step is one word in one line of the configuration.
    Catalogue catalogue{
        "/plugins",
        {plugin("intake", {}, {"gate"}), plugin("gate_a", {"gate"}, {}), plugin("gate_b", {"gate"}, {})},
        {}};
    const auto resolution = resolve(catalogue, Names{"intake"}, "x.properties:1");
    assert_only(resolution.problems, {"/plugins/intake.json", "\"gate\"", "x.properties:1",
                                      "add one of gate_a, gate_b to `plugins`"});
  }

  void two_providers_are_ambiguous() {
    // Which one holds the stock must never be a matter of luck.
    Catalogue catalogue{
        "/plugins",
        {plugin("intake", {}, {"gate"}), plugin("gate_a", {"gate"}, {}), plugin("gate_b", {"gate"}, {})},
        {}};
    const auto resolution = resolve(catalogue, Names{"intake", "gate_a", "gate_b"}, "x.properties:1");
    assert_only(resolution.problems, {"x.properties:1", "gate_a, gate_b", "/plugins/gate_a.json",
                                      "one provider", "keep one of them"});
  }

  void cycle_is_told_step_by_step() {
    // "There is a cycle" leaves the reader to find it.
    Catalogue catalogue{"/plugins",
                        {plugin("a", {"A"}, {"B"}), plugin("b", {"B"}, {"C"}), plugin("c", {"C"}, {"A"}),
                         plugin("d", {"D"}, {"D"})},
                        {}};
    const auto cycle = resolve(catalogue, Names{"a", "b", "c"}, "x.properties:1");
    assert_only(cycle.problems, {"a requires b requires c requires a", "/plugins/c.json", "needed", "next"});
    const auto self = resolve(catalogue, Names{"d"}, "x.properties:1");
    assert_only(self.problems, {"d requires d"});
  }

  void unknown_and_doubled_names_and_all_other_faults_come_together() {
    // All at once, also across kinds.
    auto broken = plugin("broken", {}, {});
    broken.problems.push_back({"/plugins/broken.json", "abi", "0", "1", "rebuild"});
    Catalogue catalogue{"/plugins", {broken, plugin("intake", {}, {"gate"})}, {}};
    const auto resolution =
        resolve(catalogue, Names{"intke", "broken", "intake", "intake"}, "x.properties:1");
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, resolution.problems.size());
    CPPUNIT_ASSERT(to_text(resolution.problems[0]).find("did you mean intake?") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("abi"), resolution.problems[1].subject);
    CPPUNIT_ASSERT(resolution.problems[2].found.find("twice") != std::string::npos);
    CPPUNIT_ASSERT(resolution.problems[3].next.find("install a plugin") != std::string::npos);
  }

  void closure_has_what_a_service_needs_and_nothing_else() {
    // `penstock audit` must not start the publisher.
    const std::vector plugins{plugin("base", {"base"}, {}), plugin("gate", {"gate"}, {}),
                              plugin("store", {"store"}, {"base"}), plugin("intake", {}, {"store", "gate"})};
    const std::string_view wanted[] = {"store"};
    CPPUNIT_ASSERT((Names{"base", "store"}) == names_of(closure(plugins, wanted)));
  }

  void manifest_reports_every_fault_at_once() {
    // Its author wants to rebuild once.
    Problems problems;
    parse_manifest(
        R"({"name":"Bad Name","summary":1,"version":"1","abi":"1","fingerprint":"f","provides":"x","requires":[1],
        "colour":"red","config":[{"key":"a","type":"int","default":"x","help":"h"},{"key":"a","type":"integer","min":5,"max":1,"help":"h"},
        {"key":"b","type":"integer","default":9,"max":5,"help":"h"},{"key":"c","type":"choice","help":"h"},{"key":"d","type":"string"}, 7]})",
        "m.json", problems);
    assert_any(problems, {"m.json: name", "Bad Name"});
    assert_any(problems, {"m.json: summary", "an integer", "a string"});
    assert_any(problems, {"m.json: abi", "a string", "an integer"});
    assert_any(problems, {"m.json: provides", "an array of strings"});
    assert_any(problems, {"m.json: requires", "strings"});
    assert_any(problems, {"m.json: colour", "unknown member"});
    assert_any(problems, {"config[a].type", "\"int\"", "integer"});
    assert_any(problems, {"config[a].key", "second time"});
    assert_any(problems, {"config[a].min", "at most max"});
    assert_any(problems, {"config[b].default", "\"9\"", "up to 5"});
    assert_any(problems, {"config[c].allowed", "nothing"});
    assert_any(problems, {"config[d].help", "nothing", "a string"});
    assert_any(problems, {"config[5]", "an integer", "an object"});
  }

  void manifest_that_is_no_object_is_refused() {
    // Whatever the file holds, the message names it.
    for (const std::string text : {"", "{", "[]", "null", "{\"name\":\"a\",\"name\":\"b\"}", "\xff"}) {
      Problems problems;
      parse_manifest(text, "m.json", problems);
      CPPUNIT_ASSERT_MESSAGE(text, !problems.empty());
      CPPUNIT_ASSERT_EQUAL(std::string("m.json"), problems[0].place);
    }
  }

  void manifest_differences_name_the_field_and_both_values() {
    // An edited default would be read by people and not by the program.
    const std::string beside =
        R"({"name":"a","version":"2","config":[{"key":"k","default":5},{"key":"new","default":1}],"extra":1})";
    const std::string inside =
        R"({"version":"1","name":"a","config":[{"key":"k","default":7},{"key":"old","default":1}]})";
    const auto problems = manifest_differences(beside, inside, "a.json");
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, problems.size());
    assert_any(problems, {"a.json: version", "\"2\"", "\"1\"", "reinstall"});
    assert_any(problems, {"config[k].default", "found 5", "needed 7"});
    assert_any(problems, {"config[new]", "needed nothing"});
    assert_any(problems, {"config[old]", "found nothing"});
    assert_any(problems, {"extra", "found 1"});
    CPPUNIT_ASSERT(manifest_differences(inside, "\n " + inside + "\n", "a.json").empty());
    CPPUNIT_ASSERT(!manifest_differences(inside, "garbage", "a.json").empty());
  }

  void own_manifest_has_help_and_defaults_that_fit() {
    // The host's keys go through the same checks as every plugin's.
    CPPUNIT_ASSERT(host_manifest().config.size() > 10);
    for (const auto& key : host_manifest().config) CPPUNIT_ASSERT_MESSAGE(key.name, key.help.ends_with('.'));
  }

  void damaged_library_files_are_found_before_they_are_mapped() {
    // Mapping a truncated library ends the process with SIGBUS.
    const auto good = read("/proc/self/exe");
    CPPUNIT_ASSERT(check_library_file("/proc/self/exe").empty());
    assert_refused(good.substr(0, good.size() / 2), "truncated");
    assert_refused(good.substr(0, 100), "truncated");
    assert_refused(good.substr(0, 10), "less than an ELF header");
    assert_refused("", "less than an ELF header");
    assert_refused("#!/bin/sh\n" + std::string(200, 'x'), "no ELF file");
    auto other_machine = good;
    other_machine[18] = 8;  // e_machine: MIPS
    assert_refused(other_machine, "another machine");
    CPPUNIT_ASSERT(check_library_file(folder_.path())[0].found.find("no file") != std::string::npos);
    CPPUNIT_ASSERT(check_library_file(folder_.path() / "none.so")[0].found.find("no such file") !=
                   std::string::npos);
  }

  void random_bytes_in_manifest_and_library_never_end_the_process() {
    // A damaged disk block must not keep the other plugins from being listed.
    std::mt19937 random(20'240);
    const auto good = read("/proc/self/exe").substr(0, 4'096);
    const std::string manifest =
        R"({"name":"a","summary":"s","provides":[],"requires":[],"config":[{"key":"k","type":"integer","default":5,"help":"h"}]})";
    for (int round = 0; round < 200; ++round) {
      auto bytes = good;
      for (int i = 0; i < 8; ++i) bytes[random() % 64] = static_cast<char>(random());
      write("fuzz.so", bytes);
      check_library_file(folder_.path() / "fuzz.so");
      auto text = manifest;
      for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
      Problems problems;
      parse_manifest(text, "m.json", problems);
    }
  }

 private:
  static std::string read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
  }

  void assert_refused(const std::string& bytes, const std::string& why) {
    write("bad.so", bytes);
    const auto problems = check_library_file(folder_.path() / "bad.so");
    assert_only(problems, {"bad.so", why, "needed", "next"});
  }

  static void assert_only(const Problems& problems, std::initializer_list<std::string> parts) {
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, problems.size());
    assert_any(problems, parts);
  }

  static void assert_any(const Problems& problems, std::initializer_list<std::string> parts) {
    std::string all;
    for (const auto& problem : problems) {
      const auto text = to_text(problem);
      const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
      if (std::all_of(parts.begin(), parts.end(), has)) return;
      all += text + "\n";
    }
    CPPUNIT_FAIL("no problem has all of " + joined(parts) + " in\n" + all);
  }

  testkit::TempDir folder_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginsTest);

}  // namespace
}  // namespace penstock::host
