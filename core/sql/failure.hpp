// Failure: what a database said no with, in the few kinds that a caller can act on.
//
// Statements inside a unit of work throw it; Database turns it into a penstock::Error at its border,
// so it never leaves the plugin. Each dialect classifies its own engine's errors, in one place.
#pragma once

#include "penstock/result.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace penstock::sql {

enum class FailureKind {
  Busy,        // another transaction is in the way, or this one was chosen as a deadlock's victim
  Raced,       // rows changed between this transaction's reading and writing: run it again
  Unique,      // a unique key is taken
  Invariant,   // a CHECK or NOT NULL refuses: the books would be wrong
  Full,        // no room on the disk
  ReadOnly,    // the database cannot be written (a failover, a file's mode)
  CannotOpen,  // no such file or server, or no permission
  Lost,        // the connection or the disk failed: what was in flight is not known
  Damaged,     // the file is not a database, or its pages contradict each other
  Misuse,      // the statement is wrong: a missing table, a typing error
};

std::string_view to_string(FailureKind kind);

class Failure : public std::runtime_error {
 public:
  Failure(FailureKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  FailureKind kind() const { return kind_; }

 private:
  FailureKind kind_;
};

// True when running the whole unit of work again may succeed at once.
bool may_rerun(FailureKind kind);

// During says how far the transaction had come: a lost connection on COMMIT leaves its outcome unknown.
enum class During { Work, Commit };
Error to_error(const Failure& failure, During during);

}  // namespace penstock::sql
