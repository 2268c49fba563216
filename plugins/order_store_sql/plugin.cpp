// The order store as a plugin: its settings, its schema at start, its health.
#include "penstock/plugin.hpp"
#include "order_store_sql/sql_order_store.hpp"
#include "order_store_sql/sql_schema_admin.hpp"
#include "order_store_sql/sql_stock_books.hpp"
#include "penstock/worker.hpp"

#include <optional>

namespace penstock::order_store_sql {

class OrderStoreSql : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context_ = &context;
    auto opened = sql::Database::open(settings_from(context));
    if (!opened.ok()) return opened.error();
    database_ = std::move(*opened);
    store_.emplace(*database_, context.random());
    books_.emplace(*database_);
    schema_.emplace(*database_, context.paths().share / "schema" / context.config().text("dialect"));
    probe_ = context.health().probe("database");
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
    look_once();
    const auto every = context_->config().duration("health_every_ms");
    watcher_.emplace(WorkerSettings{.name = "store_health"}, context_->logger(),
                     [this, every]() -> Result<Milliseconds> {
                       look_once();
                       return every;
                     });
    return {};
  }

  Result<void> stop(Deadline deadline) override {
    const bool ended = !watcher_ || watcher_->stop(deadline);
    watcher_.reset();
    if (!ended)
      return Error{ErrorCode::Timeout, "order_store_sql: the database did not answer by the deadline"};
    return {};
  }

 private:
  static sql::Settings settings_from(Context& context) {
    const auto& config = context.config();
    return {.dialect = config.text("dialect"),
            .path = context.paths().data / config.text("path"),
            .readers = static_cast<std::size_t>(config.integer("readers")),
            .session_wait = config.duration("session_wait_ms"),
            .busy_wait = config.duration("busy_wait_ms"),
            .max_reruns = static_cast<int>(config.integer("max_reruns"))};
  }

  // Ready means: the tables are those of this program, and a read is answered.
  void look_once() {
    if (const auto now = store_->now(); !now.ok()) return probe_->not_ready(now.error().message);
    if (schema_current_) return probe_->ready();
    const auto status = schema_->status();
    if (!status.ok()) return probe_->not_ready(status.error().message);
    if (!status->pending.empty()) {
      return probe_->not_ready("schema step " + status->pending.front() +
                               " is pending; run `penstock migrate`");
    }
    schema_current_ = true;
    probe_->ready();
  }

  Context* context_ = nullptr;
  std::shared_ptr<sql::Database> database_;
  std::optional<SqlOrderStore> store_;
  std::optional<SqlStockBooks> books_;
  std::optional<SqlSchemaAdmin> schema_;
  std::unique_ptr<HealthProbe> probe_;
  bool schema_current_ = false;  // by start() and then by the watcher alone
  std::optional<Worker> watcher_;
};

}  // namespace penstock::order_store_sql

PENSTOCK_PLUGIN(penstock::order_store_sql::OrderStoreSql);
