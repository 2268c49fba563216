#include "load/bench/commit_probe.hpp"

#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace penstock::load {
namespace {

void execute(sqlite3* database, const char* sql) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return;
  throw std::runtime_error(std::string("commit probe: ") + sqlite3_errmsg(database));
}

}  // namespace

Latency measure_commits(const std::filesystem::path& directory, int commits) {
  sqlite3* opened = nullptr;
  const bool ok = sqlite3_open((directory / "commit-probe.db").c_str(), &opened) == SQLITE_OK;
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, &sqlite3_close);
  if (!ok) throw std::runtime_error("commit probe: cannot open a database in " + directory.string());
  execute(opened, "PRAGMA journal_mode=WAL");
  execute(opened, "PRAGMA synchronous=FULL");
  execute(opened, "CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
  Latency latency;
  for (int i = 0; i < commits; ++i) {
    const auto began = std::chrono::steady_clock::now();
    execute(opened,
            "BEGIN IMMEDIATE; INSERT INTO probe(body) VALUES ('an order of a few hundred bytes'); COMMIT");
    latency.add(std::chrono::steady_clock::now() - began);
  }
  return latency;
}

}  // namespace penstock::load
