// Every way in which a plugin can be unfit, each ending in a message that says which file, what was
// found, what is needed and what to do next.
#include "bench.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace penstock::loader_test {
namespace {

class BrokenPluginsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(BrokenPluginsTest);
  CPPUNIT_TEST(good_plugin_passes_the_check);
  CPPUNIT_TEST(wrong_fingerprint);
  CPPUNIT_TEST(wrong_abi);
  CPPUNIT_TEST(manifest_that_differs_from_the_binary);
  CPPUNIT_TEST(missing_symbol);
  CPPUNIT_TEST(unresolved_symbol);
  CPPUNIT_TEST(duplicate_name);
  CPPUNIT_TEST(missing_provider);
  CPPUNIT_TEST(ambiguous_provider);
  CPPUNIT_TEST(cycle);
  CPPUNIT_TEST(unreadable_manifest);
  CPPUNIT_TEST(manifest_that_is_no_json);
  CPPUNIT_TEST(missing_library);
  CPPUNIT_TEST(truncated_library);
  CPPUNIT_TEST(library_of_garbage);
  CPPUNIT_TEST(library_truncated_anywhere_never_ends_the_process);
  CPPUNIT_TEST(unknown_plugin);
  CPPUNIT_TEST(missing_plugin_folder);
  CPPUNIT_TEST(host_key_that_does_not_exist);
  CPPUNIT_TEST(all_errors_of_plugins_and_configuration_come_at_once);
  CPPUNIT_TEST(broken_plugin_that_nobody_selected_is_listed_but_stops_nobody);
  CPPUNIT_TEST_SUITE_END();

 public:
  void good_plugin_passes_the_check() {
    // Otherwise every other test here would pass for the wrong reason.
    bench_.install("good", "good");
    bench_.install("unruly", "unruly");
    bench_.configure("plugins = unruly, good\n");
    const auto process = bench_.start({"check"});
    CPPUNIT_ASSERT_EQUAL_MESSAGE(process->err(), 0, process->wait(std::chrono::seconds(60)));
    CPPUNIT_ASSERT(process->out().find("good\n  unruly\n") != std::string::npos);
  }

  void wrong_fingerprint() {
    // Types of another layout would corrupt memory, not fail.
    install_good();
    bench_.edit("good.json", "sdk-", "other-sdk-");
    expect({"good.json", "fingerprint", "found \"other-sdk-", "needed \"sdk-", "next: rebuild the plugin"});
  }

  void wrong_abi() {
    // The same, one level up.
    install_good();
    bench_.edit("good.json", "\"abi\" : 1", "\"abi\" : 7");
    expect({"good.json", "abi", "found 7", "needed 1", "next: rebuild the plugin"});
  }

  void manifest_that_differs_from_the_binary() {
    // The schema that was checked must be the one that the code was written for.
    install_good();
    bench_.edit("good.json", "\"max\" : 10", "\"max\" : 1000");
    expect({"good.json", "config[batch].max", "found 1000", "needed 10", "next: reinstall the plugin"});
  }

  void missing_symbol() {
    // A library that is no plugin.
    bench_.install("no_symbol", "no_symbol");
    bench_.configure("plugins = no_symbol\n");
    expect({"no_symbol.so", "penstock_plugin", "found no such symbol", "needed the exported symbol",
            "next: end the plugin's source with PENSTOCK_PLUGIN"});
  }

  void unresolved_symbol() {
    // Found at load, not at the first order that comes to the call.
    bench_.install("unresolved", "unresolved");
    bench_.configure("plugins = unresolved\n");
    expect({"unresolved.so", "penstock_fixture_missing_function", "needed a library that can be loaded",
            "next: install the libraries it needs"});
  }

  void duplicate_name() {
    // Which of the two runs must not depend on the order of a folder.
    install_good();
    bench_.install("good", "good_copy");
    const auto text = check();
    assert_line(text, {"good.json", "name", "\"good\"", "good_copy.json has, too", "needed a name of its own",
                       "next: remove one"});
  }

  void missing_provider() {
    // Found before any code runs, with the plugins that would do.
    bench_.install("good", "good");
    bench_.install("unruly", "unruly");
    bench_.configure("plugins = unruly\n");
    expect({"unruly.json", "found no provider of the service \"greeter\"", "test.properties:5",
            "needed a plugin that provides it", "next: add good to `plugins`"});
  }

  void ambiguous_provider() {
    // Two gates would sell the same unit.
    install_good();
    bench_.declare("greeter_two", "greeter", "");
    bench_.configure("plugins = good, greeter_two\n");
    expect({"test.properties:5", "\"greeter\" provided by good, greeter_two", "greeter_two.json",
            "needed one provider", "next: keep one"});
  }

  void cycle() {
    // Neither could start first.
    bench_.declare("hen", "hen_service", "egg_service");
    bench_.declare("egg", "egg_service", "hen_service");
    bench_.configure("plugins = hen, egg\n");
    expect({"egg requires hen requires egg", "egg.json", "hen.json",
            "needed plugins that can start one after the other", "next: remove one"});
  }

  void unreadable_manifest() {
    // As root every mode is readable, so: a folder, and a link to nowhere.
    install_good();
    std::filesystem::remove(bench_.plugin("good.json"));
    std::filesystem::create_directory(bench_.plugin("good.json"));
    expect({"good.json", "found a folder", "needed a manifest", "next: check the path"});
    std::filesystem::remove(bench_.plugin("good.json"));
    std::filesystem::create_symlink(bench_.plugin("nowhere"), bench_.plugin("good.json"));
    expect(
        {"good.json", "found no readable file (No such file", "needed a manifest", "next: check the path"});
  }

  void manifest_that_is_no_json() {
    // A half-written file.
    install_good();
    const auto text = read_file(bench_.plugin("good.json"));
    bench_.edit("good.json", text.substr(text.size() / 2), "");
    expect({"good.json", "the manifest", "found \"JSON: ", "needed a JSON object",
            "next: rebuild or reinstall"});
  }

  void missing_library() {
    // The manifest alone was copied.
    install_good();
    std::filesystem::remove(bench_.plugin("good.so"));
    expect({"good.so", "found no such file", "needed the plugin's shared library",
            "next: rebuild or reinstall"});
  }

  void truncated_library() {
    // A full disk during an upgrade.
    install_good();
    std::filesystem::resize_file(bench_.plugin("good.so"), 20'000);
    expect({"good.so", "found a truncated library of 20000 bytes", "needed", "next: rebuild or reinstall"});
  }

  void library_of_garbage() {
    // Something else of that name.
    install_good();
    bench_.edit("good.so", read_file(bench_.plugin("good.so")), std::string(5'000, 'x'));
    expect({"good.so", "found no ELF file", "needed a shared library", "next: rebuild or reinstall"});
  }

  void library_truncated_anywhere_never_ends_the_process() {
    // Wherever the copy was cut, the answer is a message, not a signal.
    install_good();
    const auto size = std::filesystem::file_size(bench_.plugin("good.so"));
    for (int eighth = 0; eighth < 8; ++eighth) {
      std::filesystem::remove(bench_.plugin("good.so"));
      std::filesystem::remove(bench_.plugin("good.json"));
      bench_.install("good", "good");
      std::filesystem::resize_file(bench_.plugin("good.so"), size * static_cast<std::uintmax_t>(eighth) / 8);
      expect({"good.so", "found", "needed", "next"});
    }
  }

  void unknown_plugin() {
    // The commonest slip of all.
    install_good();
    bench_.configure("plugins = goood\n");
    expect({"test.properties:5", "plugins", "found the plugin \"goood\"", "needed one of good",
            "next: did you mean good?"});
  }

  void missing_plugin_folder() {
    // A wrong plugins.dir makes every plugin unknown; say the reason first.
    std::filesystem::remove_all(bench_.root() / "plugins");
    bench_.configure("plugins = good\n");
    expect({"/plugins", "the plugin folder", "found no readable folder", "needed the folder",
            "next: set plugins.dir"});
  }

  void host_key_that_does_not_exist() {
    // The plugin would throw when it reads it.
    install_good();
    bench_.edit("good.json", "auth.mode", "auth.mod");
    expect({"good.json", "host_keys", "found \"auth.mod\"", "needed a key of the host",
            "next: did you mean auth.mode?"});
  }

  void all_errors_of_plugins_and_configuration_come_at_once() {
    // One run, one list.
    install_good();
    bench_.edit("good.json", "sdk-", "other-sdk-");
    bench_.install("unruly", "unruly");
    bench_.configure(
        "plugins = good, unruly, nobody\ngood.batch = 99\nunruly.act = explode\ngood.gretting = x\nlog.levle "
        "= info\n");
    const auto text = check();
    assert_line(text, {"good.json", "fingerprint"});
    assert_line(text, {"\"nobody\""});
    assert_line(text, {"test.properties:6", "good.batch", "\"99\"", "from 1 to 10"});
    assert_line(text, {"test.properties:7", "unruly.act", "one of throw, fail, hang"});
    assert_line(text, {"test.properties:8", "did you mean good.greeting?"});
    assert_line(text, {"test.properties:9", "did you mean log.level?"});
  }

  void broken_plugin_that_nobody_selected_is_listed_but_stops_nobody() {
    // A broken download in the folder must not keep the shop closed.
    install_good();
    bench_.install("unruly", "unruly");
    bench_.edit("unruly.json", "sdk-", "other-sdk-");
    bench_.run({"check"}, 0);
    const auto process = bench_.start({"plugins"});
    CPPUNIT_ASSERT_EQUAL(1, process->wait(std::chrono::seconds(60)));
    assert_line(process->out(), {"cannot be loaded", "unruly.json", "fingerprint"});
  }

 private:
  void install_good() {
    bench_.install("good", "good");
    bench_.configure("plugins = good\n");
  }

  std::string check() const { return bench_.run({"check"}, 2); }

  // serve must say the same as check, and with the same status.
  void expect(const std::vector<std::string>& parts) const {
    assert_line(check(), parts);
    assert_line(bench_.run({"serve"}, 2), parts);
  }

  Bench bench_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(BrokenPluginsTest);

}  // namespace
}  // namespace penstock::loader_test
