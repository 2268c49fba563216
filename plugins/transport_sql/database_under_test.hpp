// A fresh database with the product's own tables, for the tests of this folder.
#pragma once

#include "penstock/testkit/temp_dir.hpp"
#include "sql/migrator.hpp"
#include "transport_sql/sql_transport.hpp"

#include <stdexcept>

namespace penstock::transport_sql {

inline constexpr SqlTransportSettings kQuickSettings{
    .max_body_bytes = 1 << 20, .poll = Milliseconds(50), .back_off = {Milliseconds(10), Milliseconds(50)}};

inline std::shared_ptr<sql::Database> open_database(const std::filesystem::path& file) {
  auto database = sql::Database::open({.path = file});
  if (!database) throw std::runtime_error(database.error().message);
  const auto migrated = sql::Migrator(**database, PENSTOCK_SCHEMA_DIR).migrate();
  if (!migrated) throw std::runtime_error(migrated.error().message);
  return *database;
}

class DatabaseUnderTest {
 public:
  const std::shared_ptr<sql::Database>& get() const { return database_; }
  std::filesystem::path file() const { return dir_.path() / "transport.db"; }
  // Everybody else must have let go of it.
  void reopen() {
    database_.reset();
    database_ = open_database(file());
  }

 private:
  testkit::TempDir dir_;
  std::shared_ptr<sql::Database> database_ = open_database(file());
};

}  // namespace penstock::transport_sql
