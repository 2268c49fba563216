// The order store as a plugin: its settings, its schema at start, its health.
#include "penstock/plugin.hpp"

#include "order_store_sql/sql_order_store.hpp"
#include "order_store_sql/sql_schema_admin.hpp"
#include "order_store_sql/sql_stock_books.hpp"
#include "sql/database_watch.hpp"

#include <optional>

namespace penstock::order_store_sql {

class OrderStoreSql : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context_ = &context;
    auto settings = sql::settings_from(context);
    settings.dialect = context.config().text("dialect");
    auto opened = sql::Database::open(settings);
    if (!opened.ok()) return opened.error();
    database_ = std::move(*opened);
    migrator_.emplace(*database_, context.paths().share / "schema" / settings.dialect);
    watch_.emplace(context, "database", *database_, *migrator_);
    store_.emplace(*database_, context.random());
    books_.emplace(*database_);
    schema_.emplace(*migrator_);
    context.services().provide<orders::OrderStore>(*store_);
    context.services().provide<orders::StockBooks>(*books_);
    context.services().provide<orders::SchemaAdmin>(*schema_);
    return {};
  }

  Result<void> start() override {
    const bool migrate = context_->config().flag("auto_migrate");
    const auto status = migrate ? schema_->migrate() : schema_->status();
    if (!status.ok()) return status.error();
    context_->logger().info("schema_ready", {{"current", status->current}, {"target", status->target}});
    watch_->start(context_->config().duration("health_every_ms"));
    return {};
  }

  Result<void> stop(Deadline deadline) override { return watch_ ? watch_->stop(deadline) : Result<void>(); }

 private:
  Context* context_ = nullptr;
  std::shared_ptr<sql::Database> database_;
  std::optional<sql::Migrator> migrator_;
  std::optional<SqlOrderStore> store_;
  std::optional<SqlStockBooks> books_;
  std::optional<SqlSchemaAdmin> schema_;
  std::optional<sql::DatabaseWatch> watch_;
};

}  // namespace penstock::order_store_sql

PENSTOCK_PLUGIN(penstock::order_store_sql::OrderStoreSql);
