// DatabaseWatch: keeps a plugin's health probe true. Ready means that the database answers and has the
// tables of this program; a schema that is behind is named with the next step.
#pragma once

#include "sql/database.hpp"
#include "sql/migrator.hpp"

#include "penstock/context.hpp"
#include "penstock/worker.hpp"

#include <memory>
#include <optional>

namespace penstock::sql {

class DatabaseWatch {
 public:
  // `name` is the dependency's, as the person on call reads it. Database and migrator must outlive it.
  DatabaseWatch(Context& context, std::string_view name, Database& database, Migrator& migrator);

  // Effect: looks at once, so that a plugin is ready when its start returns, then every `every` on a
  // thread of its own. Blocks for one look.
  void start(Milliseconds every);
  // Errors: Timeout when the database did not answer by the deadline.
  Result<void> stop(Deadline deadline);

 private:
  void look();
  Result<void> check_schema();
  Result<void> ping();

  Logger& logger_;
  Database& database_;
  Migrator& migrator_;
  const std::unique_ptr<HealthProbe> probe_;
  bool schema_is_current_ = false;  // by start() and then by the worker alone
  std::optional<Worker> worker_;
};

}  // namespace penstock::sql
