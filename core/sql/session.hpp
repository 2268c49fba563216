// Session: one connection, with its own knowledge of whether a transaction is open.
//
// Poco's begin(), commit() and pool are not used: its SQLite BEGIN cannot be IMMEDIATE and its MySQL
// BEGIN never switches autocommit back on. Statements are made anew for each run: a Poco statement that
// is kept is prepared again anyway (measured: 19 against 21 microseconds). Thread rule: one thread at a
// time.
#pragma once

#include "sql/dialect.hpp"
#include "sql/statement.hpp"

#include <memory>
#include <span>

namespace penstock::sql {

class Session {
 public:
  // Throws Failure.
  Session(const Dialect& dialect, const Settings& settings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Effect: runs one statement, appends its rows to `columns`; returns the number of rows changed or
  // read. Throws Failure.
  std::size_t run(std::string_view text, std::span<Parameter> parameters, std::span<Column> columns);

  void begin(std::string_view statement);
  void commit();
  // Never throws: a session that cannot roll back is broken.
  void rollback();
  // True when this session must not be used again.
  bool broken() const { return broken_; }

 private:
  struct Connection;
  [[noreturn]] void fail(const std::exception& exception, std::string_view text);

  const Dialect& dialect_;
  std::unique_ptr<Connection> connection_;
  bool in_transaction_ = false;
  bool broken_ = false;
};

}  // namespace penstock::sql
