#include "sql/database.hpp"

#include "sql/session_pool.hpp"

#include <map>
#include <mutex>
#include <thread>

namespace penstock::sql {
namespace {

constexpr Milliseconds kRerunPause{2};  // lets the other transaction end

// One per process, for every plugin that opens the same database. It forgets those that nobody uses.
struct OpenDatabases {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Database>> by_key;
};

OpenDatabases& open_databases() {
  static OpenDatabases databases;
  return databases;
}

}  // namespace

std::size_t Transaction::run(std::string_view text, std::span<Parameter> parameters,
                             std::span<Column> columns) {
  return session_.run(text, parameters, columns);
}

struct Database::Attempt {
  Result<void> result;
  bool may_rerun = false;
};

Database::Database(const Dialect& dialect, const Settings& settings)
    : dialect_(dialect),
      settings_(settings),
      readers_(std::make_unique<SessionPool>(dialect, settings, settings.readers)),
      writers_(std::make_unique<SessionPool>(dialect, settings, dialect.max_writers())) {}

Database::~Database() = default;

Result<std::shared_ptr<Database>> Database::open(const Settings& settings) {
  const auto dialect = dialect_named(settings.dialect);
  if (!dialect.ok()) return dialect.error();
  if (settings.path.empty()) {
    return Error{ErrorCode::InvalidArgument, "the database's path is empty; set it to a file"};
  }
  auto& databases = open_databases();
  const std::scoped_lock lock(databases.mutex);
  auto& known = databases.by_key[dialect.value()->database_key(settings)];
  auto database = known.lock();
  if (!database) {
    database.reset(new Database(*dialect.value(), settings));
    known = database;
  }
  return database;
}

Result<void> Database::run(Access access, const Step& step) {
  auto last = attempt(access, step);
  for (int rerun = 1; rerun <= settings_.max_reruns && last.may_rerun; ++rerun) {
    std::this_thread::sleep_for(kRerunPause * rerun);
    last = attempt(access, step);
  }
  return last.result;
}

Database::Attempt Database::attempt(Access access, const Step& step) {
  auto& pool = access == Access::Write ? *writers_ : *readers_;
  const auto lease = pool.acquire();
  if (!lease) {
    return {Error{ErrorCode::Overloaded, "database: no session became free within " +
                                             std::to_string(settings_.session_wait.count()) + " ms"}};
  }
  auto during = During::Work;
  try {
    run_once(lease->session(), access, step, during);
    return {};
  } catch (const Failure& failure) {
    return {to_error(failure, during), may_rerun(failure.kind())};
  } catch (const std::exception& e) {
    return {Error{ErrorCode::Internal, std::string("database: a unit of work threw: ") + e.what()}};
  }
}

void Database::run_once(Session& session, Access access, const Step& step, During& during) {
  struct RollBack {
    Session& open;
    ~RollBack() { open.rollback(); }  // does nothing after a commit
  };
  session.begin(access == Access::Write ? dialect_.begin_write() : dialect_.begin_read());
  const RollBack guard{session};
  Transaction tx(session, dialect_);
  if (step(tx) == Ended::RolledBack) return;
  during = During::Commit;
  session.commit();
}

}  // namespace penstock::sql
