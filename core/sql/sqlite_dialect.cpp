#include "sql/dialect.hpp"

#include <Poco/Data/DataException.h>
#include <Poco/Data/SQLite/Connector.h>
#include <Poco/Data/SQLite/SQLiteException.h>

#include <mutex>

namespace penstock::sql {
namespace {

namespace lite = Poco::Data::SQLite;

constexpr std::string_view kFormat = "'%Y-%m-%d %H:%M:%f'";

std::string join(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const auto part : parts) text += part;
  return text;
}

// The connector has no extended result codes, so the kind of a violated constraint is in the text only.
FailureKind kind_of_constraint(const std::string& text) {
  const bool unique = text.find("UNIQUE constraint") != std::string::npos;
  return unique ? FailureKind::Unique : FailureKind::Invariant;
}

class SqliteDialect final : public Dialect {
 public:
  std::string_view name() const override { return "sqlite"; }

  std::string now() const override { return join({"strftime(", kFormat, ", 'now')"}); }

  std::string after(std::string_view instant, std::string_view milliseconds) const override {
    return join({"strftime(", kFormat, ", ", instant, ", ((", milliseconds, ") / 1000.0) || ' seconds')"});
  }

  // Whole seconds and the three digits after the point apart: exact, where a Julian day is a fraction.
  std::string epoch_ms(std::string_view instant) const override {
    return join({"(CAST(strftime('%s', ", instant, ") AS INTEGER) * 1000 + CAST(substr(", instant,
                 ", 21, 3) AS INTEGER))"});
  }

  std::string instant(std::string_view epoch_ms) const override {
    return join({"strftime(", kFormat, ", (", epoch_ms, ") / 1000.0, 'unixepoch')"});
  }

  std::string concat(std::string_view left, std::string_view right) const override {
    return join({"(", left, " || ", right, ")"});
  }

  std::string rows(std::initializer_list<RowColumn> columns) const override {
    std::string text = "(SELECT key AS i";
    int position = 0;
    for (const auto& column : columns) {
      text += join({", json_extract(value, '$[", std::to_string(position++), "]') AS ", column.name});
    }
    return text + " FROM json_each(?)) r";
  }

  // "WHERE true" keeps SQLite from reading ON CONFLICT as a join's ON.
  std::string insert_skipping(std::string_view table, std::string_view columns,
                              std::string_view select) const override {
    return join({"INSERT INTO ", table, "(", columns, ") SELECT * FROM (", select,
                 ") WHERE true ON CONFLICT DO NOTHING"});
  }

  std::string update_from(std::string_view table, std::initializer_list<Assignment> assignments,
                          std::string_view rows, std::string_view where) const override {
    std::string text = join({"UPDATE ", table, " SET "});
    bool first = true;
    for (const auto& assignment : assignments) {
      text += join({first ? "" : ", ", assignment.column, " = ", assignment.value});
      first = false;
    }
    return text + join({" FROM ", rows, " WHERE ", where});
  }

  // A write transaction is alone in the database, so there is nothing to lock and nobody to skip.
  std::string_view for_update() const override { return ""; }
  std::string_view for_update_skip_locked() const override { return ""; }
  std::string_view instant_type() const override { return "TEXT"; }

  // A transaction that began by reading cannot wait for the write lock: it fails at once. So those
  // that will write ask for the lock first.
  std::string_view begin_write() const override { return "BEGIN IMMEDIATE"; }
  std::string_view begin_read() const override { return "BEGIN"; }
  std::size_t max_writers() const override { return 1; }

  void register_connector() const override {
    static std::once_flag once;
    std::call_once(once, [] { lite::Connector::registerConnector(); });
  }
  std::string connector() const override { return lite::Connector::KEY; }
  std::string connection_string(const Settings& settings) const override { return settings.path.string(); }

  // synchronous=FULL is what *committed* rests on: the log is on the disk before COMMIT returns.
  std::vector<std::string> session_setup(const Settings& settings) const override {
    return {"PRAGMA busy_timeout=" + std::to_string(settings.busy_wait.count()), "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
            // Pages that many batches touch are copied back once instead of once per few batches.
            "PRAGMA wal_autocheckpoint=4000", "PRAGMA journal_size_limit=67108864",
            "PRAGMA temp_store=MEMORY", "PRAGMA cache_size=-8192"};
  }

  std::string database_key(const Settings& settings) const override {
    std::error_code ignored;
    const auto path = std::filesystem::weakly_canonical(settings.path, ignored);
    return "sqlite:" + (ignored ? settings.path : path).string();
  }

  FailureKind classify(const Poco::Exception& e) const override {
    if (dynamic_cast<const lite::ConstraintViolationException*>(&e)) {
      return kind_of_constraint(e.displayText());
    }
    if (dynamic_cast<const lite::DBLockedException*>(&e)) return FailureKind::Busy;
    if (dynamic_cast<const lite::TableLockedException*>(&e)) return FailureKind::Busy;
    if (dynamic_cast<const lite::LockProtocolException*>(&e)) return FailureKind::Busy;
    if (dynamic_cast<const lite::DatabaseFullException*>(&e)) return FailureKind::Full;
    if (dynamic_cast<const lite::ReadOnlyException*>(&e)) return FailureKind::ReadOnly;
    if (dynamic_cast<const lite::DBAccessDeniedException*>(&e)) return FailureKind::CannotOpen;
    if (dynamic_cast<const lite::CantOpenDBFileException*>(&e)) return FailureKind::CannotOpen;
    if (dynamic_cast<const Poco::Data::ConnectionFailedException*>(&e)) return FailureKind::CannotOpen;
    if (dynamic_cast<const lite::CorruptImageException*>(&e)) return FailureKind::Damaged;
    if (dynamic_cast<const lite::IOErrorException*>(&e)) return FailureKind::Lost;
    if (dynamic_cast<const lite::InvalidSQLStatementException*>(&e)) return FailureKind::Misuse;
    if (dynamic_cast<const Poco::Data::DataException*>(&e)) return FailureKind::Misuse;
    return FailureKind::Lost;
  }
};

}  // namespace

const Dialect& sqlite_dialect() {
  static const SqliteDialect dialect;
  return dialect;
}

}  // namespace penstock::sql
