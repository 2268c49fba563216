// The main program of every test executable: runs all registered suites, or those tests whose name
// contains the first argument. Prints each test's name first, so a crash names its test.
#include <cppunit/BriefTestProgressListener.h>
#include <cppunit/CompilerOutputter.h>
#include <cppunit/TestResult.h>
#include <cppunit/TestResultCollector.h>
#include <cppunit/TestRunner.h>
#include <cppunit/extensions/TestFactoryRegistry.h>

#include <csignal>
#include <iostream>
#include <string>

namespace {

void add_matching(CppUnit::Test* test, const std::string& part, CppUnit::TestRunner& runner) {
  if (test->getName().find(part) != std::string::npos && test->getChildTestCount() == 0) {
    runner.addTest(test);
    return;
  }
  for (int i = 0; i < test->getChildTestCount(); ++i) add_matching(test->getChildTestAt(i), part, runner);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CppUnit::TestResult controller;
  CppUnit::TestResultCollector results;
  CppUnit::BriefTestProgressListener progress;
  controller.addListener(&results);
  controller.addListener(&progress);

  // The runner owns whole suites; picked tests stay owned by their suite, so both live to the end,
  // in reach of the leak checker.
  static auto* all = CppUnit::TestFactoryRegistry::getRegistry().makeTest();
  static auto* runner = new CppUnit::TestRunner;
  if (argc > 1) add_matching(all, argv[1], *runner);
  else runner->addTest(all);
  runner->run(controller);

  CppUnit::CompilerOutputter(&results, std::cerr).write();
  if (results.runTests() == 0) {
    std::cerr << "no test ran" << (argc > 1 ? std::string(": none matches ") + argv[1] : "") << "\n";
    return 1;
  }
  return results.wasSuccessful() ? 0 : 1;
}
