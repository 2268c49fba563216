// Dialect: everything in which one database engine differs from another, in one object per engine.
//
// Stores write their statements once, in the common part of SQL, and take the rest from here as
// fragments of text. Rules that keep the common part common:
//   - Instants are UTC text 'YYYY-MM-DD HH:MM:SS.SSS' to the comparing eye; they are made by now(),
//     after() and instant() and leave the database through epoch_ms() only.
//   - A batch is one JSON parameter, an array of arrays, expanded by rows(): constant text, nothing to
//     escape, and the fastest way that was measured.
//   - Join order is written as `rows(…) CROSS JOIN table t ON …`: SQLite keeps it as written, the
//     others choose the same by themselves.
// Thread rule: immutable, so thread-safe.
#pragma once

#include "sql/failure.hpp"
#include "sql/settings.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace Poco {
class Exception;
}

namespace penstock::sql {

enum class RowType { Text, Integer };

// The n-th element of each row's array, and the name it gets: `r.name`.
struct RowColumn {
  std::string_view name;
  RowType type = RowType::Text;
};

struct Assignment {
  std::string_view column;
  std::string value;  // may name the table's columns and r's
};

class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string_view name() const = 0;

  // --- fragments
  virtual std::string now() const = 0;
  virtual std::string after(std::string_view instant, std::string_view milliseconds) const = 0;
  virtual std::string epoch_ms(std::string_view instant) const = 0;
  virtual std::string instant(std::string_view epoch_ms) const = 0;
  virtual std::string concat(std::string_view left, std::string_view right) const = 0;
  // The one JSON parameter as a table named `r`, with the row's position as `r.i`.
  virtual std::string rows(std::initializer_list<RowColumn> columns) const = 0;
  // Whatever `select` yields and whose keys are not taken yet; other constraints still refuse.
  virtual std::string insert_skipping(std::string_view table, std::string_view columns,
                                      std::string_view select) const = 0;
  virtual std::string update_from(std::string_view table, std::initializer_list<Assignment> assignments,
                                  std::string_view rows, std::string_view where) const = 0;
  // Put at the end of a SELECT whose rows the transaction goes on to change.
  virtual std::string_view for_update() const = 0;
  virtual std::string_view for_update_skip_locked() const = 0;
  // The type of a column that holds an instant.
  virtual std::string_view instant_type() const = 0;

  // --- transactions and sessions
  virtual std::string_view begin_write() const = 0;
  virtual std::string_view begin_read() const = 0;
  // How many sessions may write at the same time.
  virtual std::size_t max_writers() const = 0;
  virtual void register_connector() const = 0;
  virtual std::string connector() const = 0;
  virtual std::string connection_string(const Settings& settings) const = 0;
  // Run once on every new session.
  virtual std::vector<std::string> session_setup(const Settings& settings) const = 0;
  // Two settings with the same key open the same database.
  virtual std::string database_key(const Settings& settings) const = 0;

  virtual FailureKind classify(const Poco::Exception& exception) const = 0;
};

// Errors: InvalidArgument names what was found and what there is.
Result<const Dialect*> dialect_named(std::string_view name);

const Dialect& sqlite_dialect();

}  // namespace penstock::sql
