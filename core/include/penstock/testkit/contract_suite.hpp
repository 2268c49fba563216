// ContractSuite: runs one list of tests against whatever adapter a test program hands in.
//
// A contract is a table of named functions over a subject: the adapter under test and what the tests
// must know of it. Each test gets a subject of its own. An adapter's test file makes one static
// contract object with its name and a function that makes subjects; the tests then run as
// `adapter::test_name`.
#pragma once

#include <cppunit/TestCase.h>
#include <cppunit/TestSuite.h>
#include <cppunit/extensions/TestFactory.h>
#include <cppunit/extensions/TestFactoryRegistry.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace penstock::testkit {

template <class Subject>
struct ContractTest {
  const char* name;
  void (*run)(Subject& subject);
};

template <class Subject>
class ContractSuite : public CppUnit::TestFactory {
 public:
  using Make = std::function<std::unique_ptr<Subject>()>;

  ContractSuite(std::string adapter, Make make, std::span<const ContractTest<Subject>> tests)
      : adapter_(std::move(adapter)), make_(std::move(make)), tests_(tests) {
    CppUnit::TestFactoryRegistry::getRegistry().registerFactory(this);
  }
  ~ContractSuite() override {
    if (CppUnit::TestFactoryRegistry::isValid())
      CppUnit::TestFactoryRegistry::getRegistry().unregisterFactory(this);
  }
  ContractSuite(const ContractSuite&) = delete;
  ContractSuite& operator=(const ContractSuite&) = delete;

  CppUnit::Test* makeTest() override {
    auto suite = std::make_unique<CppUnit::TestSuite>(adapter_);
    for (const auto& test : tests_) suite->addTest(new Case(adapter_ + "::" + test.name, make_, test.run));
    return suite.release();
  }

 private:
  class Case : public CppUnit::TestCase {
   public:
    Case(const std::string& name, Make make, void (*test)(Subject&))
        : TestCase(name), make_(std::move(make)), test_(test) {}

   protected:
    void runTest() override {
      const auto subject = make_();
      test_(*subject);
    }

   private:
    const Make make_;
    void (*const test_)(Subject&);
  };

  const std::string adapter_;
  const Make make_;
  const std::span<const ContractTest<Subject>> tests_;
};

}  // namespace penstock::testkit
