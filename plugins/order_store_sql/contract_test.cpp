// The order store's contract, run against SQLite.
#include "penstock/testkit/order_store_contract.hpp"

#include "order_store_sql/sql_order_store.hpp"
#include "order_store_sql/sql_schema_admin.hpp"
#include "order_store_sql/sql_stock_books.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/temp_dir.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <stdexcept>

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
  struct Opened {
    explicit Opened(const std::filesystem::path& path)
        : database(sql::Database::open({.path = path, .session_wait = std::chrono::minutes(1)}).value()),
          store(*database, random),
          books(*database) {
      SqlSchemaAdmin schema(*database, PENSTOCK_SCHEMA_DIR);
      if (const auto made = schema.migrate(); !made) throw std::runtime_error(made.error().message);
    }

    testkit::SeededRandom random{1};
    std::shared_ptr<sql::Database> database;
    SqlOrderStore store;
    SqlStockBooks books;
  };

  Opened& opened() {
    std::call_once(once_, [this] { opened_ = std::make_unique<Opened>(dir_.path() / "store.db"); });
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
  std::unique_ptr<Opened> opened_;
};

const testkit::OrderStoreContract contract("order_store_sql", [] { return std::make_unique<Subject>(); });

}  // namespace
}  // namespace penstock::order_store_sql
