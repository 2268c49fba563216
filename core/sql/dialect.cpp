#include "sql/dialect.hpp"

namespace penstock::sql {

Result<const Dialect*> dialect_named(std::string_view name) {
  if (name == sqlite_dialect().name()) return &sqlite_dialect();
  return Error{ErrorCode::InvalidArgument,
               "database dialect '" + std::string(name) + "' is not known; known: sqlite"};
}

}  // namespace penstock::sql
