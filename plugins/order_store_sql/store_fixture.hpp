// A store with its tables in a folder of the test's own.
#pragma once

#include "order_store_sql/sql_order_store.hpp"
#include "order_store_sql/sql_stock_books.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/temp_dir.hpp"
#include "sql/migrator.hpp"

#include <stdexcept>

namespace penstock::order_store_sql {

// Opened with its tables made; throws when that fails.
struct OpenStore {
  explicit OpenStore(const std::filesystem::path& path)
      : database(sql::Database::open({.path = path, .session_wait = std::chrono::minutes(1)}).value()),
        store(*database, random),
        books(*database) {
    sql::Migrator schema(*database, PENSTOCK_SCHEMA_DIR);
    if (const auto made = schema.migrate(); !made.ok()) throw std::runtime_error(made.error().message);
  }

  testkit::SeededRandom random{1};
  std::shared_ptr<sql::Database> database;
  SqlOrderStore store;
  SqlStockBooks books;
};

}  // namespace penstock::order_store_sql
