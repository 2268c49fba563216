// Everything the order store's operations share: the database, the row groups, the outbox.
#pragma once

#include "order_store_sql/order_rows.hpp"
#include "order_store_sql/outbox.hpp"
#include "order_store_sql/stock_rows.hpp"

namespace penstock::order_store_sql {

struct Tables {
  Tables(sql::Database& opened, Random& random)
      : database(opened), orders(opened.dialect()), stock(opened.dialect()), outbox(opened, random) {}

  sql::Database& database;
  const OrderRows orders;
  const StockRows stock;
  Outbox outbox;
  OutboxWatchers watchers;
};

// An answer that came out of a committed transaction, and whether somebody waits for its events.
template <class T>
struct Committed {
  T value;
  bool wrote_events = false;
};

// One transaction; wakes the outbox's watchers when it committed events. `work` is callable as
// Result<Committed<T>>(Transaction&).
template <class T, class Work>
Result<T> commit(Tables& tables, const Work& work) {
  Result<Committed<T>> done = tables.database.write(work);
  if (!done.ok()) return done.error();
  if (done->wrote_events) tables.watchers.wake_all();
  return std::move(done->value);
}

}  // namespace penstock::order_store_sql
