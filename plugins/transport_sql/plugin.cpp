// The SQL transport as a plugin: its settings, its schema at start, its health.
#include "penstock/plugin.hpp"

#include "sql/database_watch.hpp"
#include "transport_sql/sql_transport.hpp"

#include <optional>

namespace penstock::transport_sql {

class TransportSql : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context_ = &context;
    auto opened = sql::Database::open(sql::settings_from(context));
    if (!opened) return opened.error();
    database_ = std::move(*opened);
    migrator_.emplace(*database_, context.paths().share / "schema" / database_->dialect().name());
    watch_.emplace(context, "transport", *database_, *migrator_);
    transport_.emplace(transport_settings(context.config()), database_, context.clock(), context.random(),
                       context.logger());
    context.services().provide<Transport>(*transport_);
    context.services().provide<DeadLetters>(*transport_);
    return {};
  }

  // Missing tables are no failure: the order store may be about to make them in the same file.
  Result<void> start() override {
    if (context_->config().flag("auto_migrate")) {
      if (const auto migrated = migrator_->migrate(); !migrated) return migrated.error();
    }
    watch_->start(context_->config().duration("health_every_ms"));
    return {};
  }

  Result<void> stop(Deadline deadline) override { return watch_ ? watch_->stop(deadline) : Result<void>(); }

 private:
  static SqlTransportSettings transport_settings(const Config& config) {
    return {.max_body_bytes = static_cast<std::size_t>(config.integer("max_body_bytes")),
            .poll = config.duration("poll_interval_ms"),
            .back_off = {config.duration("first_back_off_ms"), config.duration("max_back_off_ms")}};
  }

  Context* context_ = nullptr;
  std::shared_ptr<sql::Database> database_;
  std::optional<sql::Migrator> migrator_;
  std::optional<SqlTransport> transport_;
  std::optional<sql::DatabaseWatch> watch_;
};

}  // namespace penstock::transport_sql

PENSTOCK_PLUGIN(penstock::transport_sql::TransportSql);
