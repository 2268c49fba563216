#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/transport_contract.hpp"
#include "transport_sql/database_under_test.hpp"
#include "transport_sql/sql_transport.hpp"

namespace penstock::transport_sql {
namespace {

class Subject : public testkit::TransportSubject {
 public:
  Subject() { restart(); }
  Transport& transport() override { return *transport_; }
  DeadLetters& dead_letters() override { return *transport_; }

  void restart() override {
    transport_.reset();
    other_.reset();
    database_.reopen();
    transport_ = open();
    other_ = open();
  }
  // An object of its own: what it publishes wakes nobody here.
  Transport& other_process() override { return *other_; }

 private:
  std::unique_ptr<SqlTransport> open() {
    return std::make_unique<SqlTransport>(kQuickSettings, database_.get(), clock_, random_, logger_);
  }

  DatabaseUnderTest database_;
  testkit::RealClock clock_;
  testkit::SeededRandom random_{1};
  testkit::RecordingLogger logger_;
  std::unique_ptr<SqlTransport> transport_;
  std::unique_ptr<SqlTransport> other_;
};

const testkit::TransportContract contract("transport_sql", [] { return std::make_unique<Subject>(); });

}  // namespace
}  // namespace penstock::transport_sql
