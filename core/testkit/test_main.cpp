// The main program of every test executable: runs all registered suites, or those tests whose name
// contains the first argument. Prints each test's name first, so a crash names its test.
#include <cppunit/BriefTestProgressListener.h>
#include <cppunit/CompilerOutputter.h>
#include <cppunit/Test.h>
#include <cppunit/TestResult.h>
#include <cppunit/TestResultCollector.h>
#include <cppunit/extensions/TestFactoryRegistry.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

// The single tests below `test` whose name contains `part`.
std::vector<CppUnit::Test*> matching(CppUnit::Test* test, const std::string& part) {
  if (test->getChildTestCount() == 0) {
    if (test->getName().find(part) == std::string::npos) return {};
    return {test};
  }
  std::vector<CppUnit::Test*> found;
  for (int i = 0; i < test->getChildTestCount(); ++i) {
    const auto some = matching(test->getChildTestAt(i), part);
    found.insert(found.end(), some.begin(), some.end());
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CppUnit::TestResult controller;
  CppUnit::TestResultCollector results;
  CppUnit::BriefTestProgressListener progress;
  controller.addListener(&results);
  controller.addListener(&progress);

  // Destroyed at the end of main, and with it every fixture and what it still holds.
  const std::unique_ptr<CppUnit::Test> all(CppUnit::TestFactoryRegistry::getRegistry().makeTest());
  const auto chosen = argc > 1 ? matching(all.get(), argv[1]) : std::vector<CppUnit::Test*>{all.get()};
  for (auto* test : chosen) controller.runTest(test);

  CppUnit::CompilerOutputter(&results, std::cerr).write();
  if (results.runTests() == 0) {
    std::cerr << "no test ran" << (argc > 1 ? std::string(": none matches ") + argv[1] : "") << "\n";
    return 1;
  }
  return results.wasSuccessful() ? 0 : 1;
}
