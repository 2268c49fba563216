// The audit: every place where the rows could contradict each other, each as one query with a stable
// name. A sound database yields nothing.
#pragma once

#include "penstock/orders/stock_books.hpp"
#include "sql/database.hpp"

#include <string>
#include <vector>

namespace penstock::order_store_sql {

class Audit {
 public:
  // Differences listed per kind; one more entry says that there are more.
  static constexpr std::size_t kMaxPerKind = 100;

  explicit Audit(const sql::Dialect& dialect);
  std::vector<orders::BookDifference> differences(sql::Transaction& tx) const;
  // The names of all checks, in order.
  std::vector<std::string> kinds() const;

 private:
  struct Check {
    std::string kind;
    std::string words;  // with {place}, {found} and {needed}
    std::string query;  // subject, place, found, needed
  };
  void run(sql::Transaction& tx, const Check& check, std::vector<orders::BookDifference>& differences) const;
  void add_stock_checks();
  void add_lock_checks();
  void add_order_checks();
  void add_event_checks(const sql::Dialect& dialect);
  void add_payment_checks();

  std::vector<Check> checks_;
};

}  // namespace penstock::order_store_sql
