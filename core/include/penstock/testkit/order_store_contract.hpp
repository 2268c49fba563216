// What every OrderStore with its StockBooks must do, as tests: each outcome, repeats within and across
// batches, races, leases, crashes inside transactions, and books that balance after all of it.
//
// An adapter's test file:
//   class Subject : public testkit::OrderStoreSubject { ... };
//   const testkit::OrderStoreContract contract("order_store_sql", [] { return std::make_unique<Subject>();
//   });
#pragma once

#include "penstock/orders/order_store.hpp"
#include "penstock/orders/stock_books.hpp"
#include "penstock/testkit/contract_suite.hpp"

namespace penstock::testkit {

// The store under test, empty, with its tables made. Opens at the first call of store() or books(): a
// test that needs another process asks for it before.
class OrderStoreSubject {
 public:
  virtual ~OrderStoreSubject() = default;
  virtual orders::OrderStore& store() = 0;
  virtual orders::StockBooks& books() = 0;
  // Runs `body` in a child process on the same database, opened there anew; returns the child's exit
  // status: 0 when the body returned, 1 when it threw.
  virtual int in_child(const std::function<void(OrderStoreSubject& subject)>& body) = 0;
};

class OrderStoreContract : public ContractSuite<OrderStoreSubject> {
 public:
  OrderStoreContract(std::string adapter, Make make);
};

}  // namespace penstock::testkit
