#include "sql/database_watch.hpp"

namespace penstock::sql {

DatabaseWatch::DatabaseWatch(Context& context, std::string_view name, Database& database, Migrator& migrator)
    : logger_(context.logger()),
      database_(database),
      migrator_(migrator),
      probe_(context.health().probe(name)) {}

void DatabaseWatch::start(Milliseconds every) {
  look();
  worker_.emplace(WorkerSettings{.name = "database_watch"}, logger_, [this, every]() -> Result<Milliseconds> {
    look();
    return every;
  });
}

Result<void> DatabaseWatch::stop(Deadline deadline) {
  const bool ended = !worker_ || worker_->stop(deadline);
  worker_.reset();
  if (ended) return {};
  return Error{ErrorCode::Timeout, "the database did not answer by the deadline"};
}

void DatabaseWatch::look() {
  const auto seen = schema_is_current_ ? ping() : check_schema();
  if (seen.ok())
    probe_->ready();
  else
    probe_->not_ready(seen.error().message);
}

Result<void> DatabaseWatch::check_schema() {
  const auto status = migrator_.status();
  if (!status.ok()) return status.error();
  if (!status->pending.empty()) {
    return Error{ErrorCode::Unavailable,
                 "schema step " + status->pending.front() + " is pending; run `penstock migrate`"};
  }
  schema_is_current_ = true;
  return {};
}

Result<void> DatabaseWatch::ping() {
  return database_.read([](Transaction& tx) -> Result<void> {
    tx.query<std::int64_t>("SELECT 1");
    return {};
  });
}

}  // namespace penstock::sql
