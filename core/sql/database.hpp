// Database: units of work, each in one transaction.
//
// write() runs a function between BEGIN and COMMIT. It commits when the function returns an ok Result
// and rolls back when it returns an error or throws. A unit of work that met a lock or lost a race is
// run again from its start, a bounded number of times: so it may set outer variables, but must set
// them anew each time it runs. read() is the same on a snapshot that nobody's writing changes.
//
// Thread rule: thread-safe; calls block for a free session (writers in the order of asking) and for
// their statements. Never call write() inside write() on one thread: it would wait for itself.
//
// Errors beside the function's own: Overloaded (no session became free in time, nothing was changed),
// Unavailable (nothing was changed), UnknownOutcome (COMMIT was sent and not answered), Corrupt (a
// constraint of the books refused, or the file is damaged), Internal (a wrong statement).
#pragma once

#include "sql/settings.hpp"
#include "sql/transaction.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

namespace penstock::sql {

class SessionPool;

class Database {
 public:
  // The same database opened twice in one process is one object, with the settings of the first
  // opening, so that all its writers stand in one queue. Does no I/O: the first unit of work connects.
  // Errors: InvalidArgument (unknown dialect, no path).
  static Result<std::shared_ptr<Database>> open(const Settings& settings);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const Dialect& dialect() const { return dialect_; }

  // `work` is callable as Result<T>(Transaction&); so is the answer.
  template <class Work>
  auto write(Work&& work) {
    return transact(Access::Write, std::forward<Work>(work));
  }
  template <class Work>
  auto read(Work&& work) {
    return transact(Access::Read, std::forward<Work>(work));
  }

 private:
  enum class Access { Read, Write };
  enum class Ended { Committed, RolledBack };
  using Step = std::function<Ended(Transaction&)>;
  struct Attempt;

  Database(const Dialect& dialect, const Settings& settings);

  template <class Work>
  auto transact(Access access, Work&& work) {
    using Answer = std::invoke_result_t<Work&, Transaction&>;
    std::optional<Answer> answer;
    const auto ran = run(access, [&](Transaction& tx) {
      answer.emplace(work(tx));
      return answer->ok() ? Ended::Committed : Ended::RolledBack;
    });
    return ran.ok() ? std::move(*answer) : Answer(ran.error());
  }

  Result<void> run(Access access, const Step& step);
  Attempt attempt(Access access, const Step& step);
  void run_once(class Session& session, Access access, const Step& step, During& during);

  const Dialect& dialect_;
  const Settings settings_;
  std::unique_ptr<SessionPool> readers_;
  std::unique_ptr<SessionPool> writers_;
};

}  // namespace penstock::sql
