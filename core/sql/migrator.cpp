#include "sql/migrator.hpp"

#include <Poco/SHA2Engine.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace penstock::sql {
namespace {

constexpr std::size_t kDigits = 3;

Error misnamed(const std::filesystem::path& file) {
  return {ErrorCode::InvalidArgument,
          "schema step '" + file.string() + "' is misnamed; needed: three digits, '_', a-z 0-9 _, '.sql'"};
}

bool is_step_name(const std::string& stem) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto letter = [&](char c) { return digit(c) || c == '_' || (c >= 'a' && c <= 'z'); };
  return stem.size() > kDigits + 1 && std::all_of(stem.begin(), stem.begin() + kDigits, digit) &&
         stem[kDigits] == '_' && std::all_of(stem.begin() + kDigits, stem.end(), letter);
}

std::string checksum(const std::string& text) {
  Poco::SHA2Engine engine(Poco::SHA2Engine::SHA_256);
  engine.update(text);
  return Poco::DigestEngine::digestToHex(engine.digest());
}

Result<MigrationStep> read_step(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  if (!is_step_name(stem)) return misnamed(file);
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return Error{ErrorCode::NotFound, "schema step '" + file.string() + "' cannot be read"};
  return MigrationStep{std::stoi(stem.substr(0, kDigits)), stem, text.str(), checksum(text.str())};
}

Result<void> check_numbers(const std::vector<MigrationStep>& steps, const std::filesystem::path& folder) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const int needed = static_cast<int>(i) + 1;
    if (steps[i].number == needed) continue;
    return Error{ErrorCode::InvalidArgument, "schema steps in '" + folder.string() + "': found " +
                                                 steps[i].name + " where number " + std::to_string(needed) +
                                                 " was needed; steps count up from 1, each once"};
  }
  return {};
}

void ensure_table(Transaction& tx) {
  tx.execute(
      "CREATE TABLE IF NOT EXISTS schema_migration ("
      "step INTEGER NOT NULL PRIMARY KEY, name VARCHAR(200) NOT NULL, checksum CHAR(64) NOT NULL, "
      "applied_at " +
      std::string(tx.dialect().instant_type()) + " NOT NULL)");
}

struct Applied {
  int number = 0;
  std::string name;
  std::string checksum;
};

std::vector<Applied> read_applied(Transaction& tx) {
  std::vector<Applied> applied;
  for (auto& [number, name, sum] : tx.query<std::int64_t, std::string, std::string>(
           "SELECT step, name, checksum FROM schema_migration ORDER BY step")) {
    applied.push_back({static_cast<int>(number), std::move(name), std::move(sum)});
  }
  return applied;
}

Result<void> check_applied(const Applied& applied, const std::vector<MigrationStep>& steps) {
  const auto known = std::find_if(steps.begin(), steps.end(),
                                  [&](const MigrationStep& step) { return step.number == applied.number; });
  if (known == steps.end()) {
    return Error{ErrorCode::Conflict, "the database has schema step " + applied.name +
                                          ", this program knows steps up to " +
                                          std::to_string(steps.back().number) +
                                          "; start the newer program, schemas only go forward"};
  }
  if (known->checksum != applied.checksum) {
    return Error{ErrorCode::Conflict, "schema step " + known->name +
                                          " was changed after it was applied; put the released file back and "
                                          "write a new step"};
  }
  return {};
}

}  // namespace

std::vector<std::string> split_statements(const std::string& text) {
  std::vector<std::string> statements;
  std::istringstream lines(text);
  std::string statement;
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line.compare(first, 2, "--") == 0) continue;
    const auto last = line.find_last_not_of(" \t\r");
    statement += line.substr(0, last + 1);
    if (line[last] != ';') {
      statement += '\n';
      continue;
    }
    statement.pop_back();
    statements.push_back(std::move(statement));
    statement.clear();
  }
  if (!statement.empty()) statements.push_back(std::move(statement));
  return statements;
}

Result<std::vector<MigrationStep>> read_steps(const std::filesystem::path& folder) {
  std::error_code failed;
  std::vector<MigrationStep> steps;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() != ".sql") continue;
    auto step = read_step(entry.path());
    if (!step.ok()) return step.error();
    steps.push_back(std::move(*step));
  }
  if (failed || steps.empty()) {
    return Error{ErrorCode::NotFound, "no schema steps in '" + folder.string() + "'; check share.dir"};
  }
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (const auto checked = check_numbers(steps, folder); !checked.ok()) return checked.error();
  return steps;
}

Result<MigrationStatus> Migrator::status() {
  const auto steps = read_steps(folder_);
  if (!steps.ok()) return steps.error();
  return compare(*steps);
}

Result<MigrationStatus> Migrator::compare(const std::vector<MigrationStep>& steps) {
  return database_.write([&](Transaction& tx) -> Result<MigrationStatus> {
    ensure_table(tx);
    MigrationStatus status{.current = 0, .target = steps.back().number, .pending = {}};
    for (const auto& applied : read_applied(tx)) {
      if (const auto checked = check_applied(applied, steps); !checked.ok()) return checked.error();
      status.current = applied.number;
    }
    for (const auto& step : steps) {
      if (step.number > status.current) status.pending.push_back(step.name);
    }
    return status;
  });
}

Result<MigrationStatus> Migrator::migrate() {
  const auto steps = read_steps(folder_);
  if (!steps.ok()) return steps.error();
  const auto before = compare(*steps);
  if (!before.ok()) return before.error();
  for (const auto& step : *steps) {
    if (step.number <= before->current) continue;
    if (const auto applied = apply(step); !applied.ok()) return applied.error();
  }
  return compare(*steps);
}

Result<void> Migrator::apply(const MigrationStep& step) {
  const auto applied = database_.write([&](Transaction& tx) -> Result<void> {
    // Another process may have applied it since the comparison.
    const auto done = tx.query<std::int64_t>("SELECT step FROM schema_migration WHERE step = ?", step.number);
    if (!done.empty()) return {};
    for (const auto& statement : split_statements(step.text)) tx.execute(statement);
    tx.execute("INSERT INTO schema_migration(step, name, checksum, applied_at) VALUES (?, ?, ?, " +
                   tx.dialect().now() + ")",
               step.number, step.name, step.checksum);
    return {};
  });
  if (applied.ok()) return {};
  return Error{applied.error().code, "schema step " + step.name + ": " + applied.error().message};
}

}  // namespace penstock::sql
