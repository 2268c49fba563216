// Migrator: brings a database to the schema this program knows.
//
// Steps are files NNN_name.sql, numbered from 001 without gaps, never changed once released: the
// database remembers each step's checksum. Forward only. Each step runs in its own transaction
// together with the row that remembers it, so a crash leaves whole steps only.
// In a file each statement ends with ';' at the end of a line; "--" starts a comment line.
// Thread rule: thread-safe, also against other processes; blocks for its transactions.
#pragma once

#include "sql/database.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace penstock::sql {

struct MigrationStep {
  int number = 0;
  std::string name;  // "001_orders"
  std::string text;
  std::string checksum;
};

struct MigrationStatus {
  int current = 0;  // newest applied step, 0 for an empty database
  int target = 0;   // newest step in the folder
  std::vector<std::string> pending;
};

class Migrator {
 public:
  Migrator(Database& database, std::filesystem::path folder)
      : database_(database), folder_(std::move(folder)) {}

  // Errors: NotFound (no such folder, or no steps in it), InvalidArgument (a misnamed, missing or
  // doubled step), Conflict (the database is newer than this program, or an applied step's file was
  // changed), and those of Database.
  Result<MigrationStatus> status();
  // Effect: applies what is pending. The same errors.
  Result<MigrationStatus> migrate();

 private:
  Result<MigrationStatus> compare(const std::vector<MigrationStep>& steps);
  Result<void> apply(const MigrationStep& step);

  Database& database_;
  const std::filesystem::path folder_;
};

// The steps in a folder, in order.
Result<std::vector<MigrationStep>> read_steps(const std::filesystem::path& folder);
std::vector<std::string> split_statements(const std::string& text);

}  // namespace penstock::sql
