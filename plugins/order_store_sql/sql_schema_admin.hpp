// The store's tables, through the numbered steps of the installation.
#pragma once

#include "penstock/orders/stock_books.hpp"
#include "sql/migrator.hpp"

namespace penstock::order_store_sql {

class SqlSchemaAdmin : public orders::SchemaAdmin {
 public:
  explicit SqlSchemaAdmin(sql::Migrator& migrator) : migrator_(migrator) {}
  Result<orders::SchemaStatus> status() override { return told(migrator_.status()); }
  Result<orders::SchemaStatus> migrate() override { return told(migrator_.migrate()); }

 private:
  static Result<orders::SchemaStatus> told(Result<sql::MigrationStatus> status) {
    if (!status.ok()) return status.error();
    return orders::SchemaStatus{status->current, status->target, std::move(status->pending)};
  }

  sql::Migrator& migrator_;
};

}  // namespace penstock::order_store_sql
