// The order store's contract, run against SQLite.
#include "penstock/testkit/order_store_contract.hpp"

#include "order_store_sql/store_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <mutex>

namespace penstock::order_store_sql {
namespace {

class Subject : public testkit::OrderStoreSubject {
 public:
  orders::OrderStore& store() override { return opened().store; }
  orders::StockBooks& books() override { return opened().books; }

  // Forks before this process opens the file: SQLite's connections must not be carried into a child.
  int in_child(const std::function<void(OrderStoreSubject&)>& body) override {
    const pid_t child = ::fork();
    if (child == 0) run_and_exit(body);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  OpenStore& opened() {
    std::call_once(once_, [this] { opened_ = std::make_unique<OpenStore>(dir_.path() / "store.db"); });
    return *opened_;
  }

  [[noreturn]] void run_and_exit(const std::function<void(OrderStoreSubject&)>& body) {
    try {
      body(*this);
    } catch (const std::exception& e) {
      std::cerr << "in the child: " << e.what() << "\n";
      ::_exit(1);
    }
    ::_exit(0);
  }

  testkit::TempDir dir_;
  std::once_flag once_;
  std::unique_ptr<OpenStore> opened_;
};

const testkit::OrderStoreContract contract("order_store_sql", [] { return std::make_unique<Subject>(); });

}  // namespace
}  // namespace penstock::order_store_sql
