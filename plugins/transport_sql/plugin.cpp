// The SQL transport as a plugin: its settings, its schema at start, its health.
#include "penstock/plugin.hpp"
#include "penstock/worker.hpp"
#include "sql/migrator.hpp"
#include "transport_sql/sql_transport.hpp"

#include <optional>

namespace penstock::transport_sql {

class TransportSql : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context_ = &context;
    auto opened = sql::Database::open(database_settings(context));
    if (!opened) return opened.error();
    database_ = std::move(*opened);
    migrator_.emplace(*database_, context.paths().share / "schema" / database_->dialect().name());
    transport_.emplace(transport_settings(context.config()), database_, context.clock(), context.random(),
                       context.logger());
    probe_ = context.health().probe("transport");
    context.services().provide<Transport>(*transport_);
    context.services().provide<DeadLetters>(*transport_);
    return {};
  }

  // Missing tables are no failure: the order store may be about to make them in the same file.
  Result<void> start() override {
    if (context_->config().flag("auto_migrate")) {
      if (const auto migrated = migrator_->migrate(); !migrated) return migrated.error();
    }
    look_once();
    const auto every = context_->config().duration("health_every_ms");
    watcher_.emplace(WorkerSettings{.name = "transport_health"}, context_->logger(),
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
      return Error{ErrorCode::Timeout, "transport_sql: the database did not answer by the deadline"};
    return {};
  }

 private:
  static sql::Settings database_settings(Context& context) {
    const auto& config = context.config();
    return {.dialect = "sqlite",
            .path = context.paths().data / config.text("path"),
            .readers = static_cast<std::size_t>(config.integer("readers")),
            .session_wait = config.duration("session_wait_ms"),
            .busy_wait = config.duration("busy_wait_ms"),
            .max_reruns = static_cast<int>(config.integer("max_reruns"))};
  }

  static SqlTransportSettings transport_settings(const Config& config) {
    return {.max_body_bytes = static_cast<std::size_t>(config.integer("max_body_bytes")),
            .poll = config.duration("poll_interval_ms"),
            .back_off = {config.duration("first_back_off_ms"), config.duration("max_back_off_ms")}};
  }

  // Ready means: the tables are those of this program, and the database answers.
  void look_once() {
    const auto status = migrator_->status();
    if (!status) return probe_->not_ready(status.error().message);
    if (!status->pending.empty()) {
      return probe_->not_ready("schema step " + status->pending.front() +
                               " is pending; run `penstock migrate`");
    }
    probe_->ready();
  }

  Context* context_ = nullptr;
  std::shared_ptr<sql::Database> database_;
  std::optional<sql::Migrator> migrator_;
  std::optional<SqlTransport> transport_;
  std::unique_ptr<HealthProbe> probe_;
  std::optional<Worker> watcher_;
};

}  // namespace penstock::transport_sql

PENSTOCK_PLUGIN(penstock::transport_sql::TransportSql);
