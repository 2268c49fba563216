#include "bench.hpp"

#include <cppunit/TestAssert.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace penstock::loader_test {
namespace {

const std::filesystem::path kFixtures = PENSTOCK_FIXTURES;
constexpr auto kLimit = std::chrono::seconds(60);

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  CPPUNIT_ASSERT_MESSAGE("no " + from + " in " + text, at != std::string::npos);
  text.replace(at, from.size(), to);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void assert_line(const std::string& text, const std::vector<std::string>& parts) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto has = [&](const std::string& part) { return line.find(part) != std::string::npos; };
    if (std::all_of(parts.begin(), parts.end(), has)) return;
  }
  std::string wanted;
  for (const auto& part : parts) wanted += "\n  " + part;
  CPPUNIT_FAIL("no line has all of" + wanted + "\nin\n" + text);
}

Bench::Bench() {
  std::filesystem::create_directory(root() / "plugins");
}

void Bench::install(const std::string& fixture, const std::string& as) {
  for (const std::string extension : {".json", ".so"}) {
    std::filesystem::copy_file(kFixtures / (fixture + extension), plugin(as + extension));
  }
}

void Bench::edit(const std::string& file, const std::string& from, const std::string& to) {
  auto text = read_file(plugin(file));
  replace(text, from, to);
  write_file(plugin(file), text);
}

void Bench::declare(const std::string& name, const std::string& provides, const std::string& needs) {
  install("unresolved", name);
  std::filesystem::remove(plugin(name + ".so"));
  std::filesystem::copy_file(kFixtures / "good.so", plugin(name + ".so"));
  const auto list = [](const std::string& service) {
    return service.empty() ? "[]" : "[\"" + service + "\"]";
  };
  auto text = read_file(plugin(name + ".json"));
  const auto set = [&](const std::string& member, const std::string& value) {
    const auto begin = text.find("\"" + member + "\"");
    const auto colon = text.find(':', begin);
    const auto end = text.find(value[0] == '[' ? ']' : ',', colon) + (value[0] == '[' ? 1 : 0);
    text.replace(colon + 1, end - colon - 1, value);
  };
  set("name", "\"" + name + "\"");
  set("provides", list(provides));
  set("requires", list(needs));
  write_file(plugin(name + ".json"), text);
}

void Bench::configure(const std::string& settings) {
  write_file(configuration(), "data.dir = " + (root() / "data").string() +
                                  "\nplugins.dir = " + (root() / "plugins").string() +
                                  "\nhttp.public.port = 0\nhttp.operator.port = 0\n" + settings);
}

std::unique_ptr<testkit::Process> Bench::start(std::vector<std::string> words,
                                               const std::vector<std::string>& environment) const {
  words.insert(words.begin(), PENSTOCK_PROGRAM);
  words.insert(words.end(), {"-c", configuration().string()});
  return std::make_unique<testkit::Process>(words, root(), environment);
}

std::string Bench::run(const std::vector<std::string>& words, int expected_status) const {
  const auto process = start(words);
  const int status = process->wait(kLimit);
  CPPUNIT_ASSERT_EQUAL_MESSAGE(process->out() + process->err(), expected_status, status);
  return process->err();
}

std::string Bench::life() const {
  return read_file(root() / "data" / "life");
}

}  // namespace penstock::loader_test
