#include "sql/failure.hpp"

namespace penstock::sql {

std::string_view to_string(FailureKind kind) {
  switch (kind) {
    case FailureKind::Busy: return "busy";
    case FailureKind::Raced: return "raced";
    case FailureKind::Unique: return "unique";
    case FailureKind::Invariant: return "invariant";
    case FailureKind::Full: return "full";
    case FailureKind::ReadOnly: return "read_only";
    case FailureKind::CannotOpen: return "cannot_open";
    case FailureKind::Lost: return "lost";
    case FailureKind::Damaged: return "damaged";
    case FailureKind::Misuse: return "misuse";
  }
  return "";
}

bool may_rerun(FailureKind kind) {
  return kind == FailureKind::Busy || kind == FailureKind::Raced;
}

namespace {

ErrorCode code_of(FailureKind kind, During during) {
  switch (kind) {
    case FailureKind::Busy:
    case FailureKind::Raced:
    case FailureKind::Full:
    case FailureKind::ReadOnly:
    case FailureKind::CannotOpen: return ErrorCode::Unavailable;
    case FailureKind::Lost:
      return during == During::Commit ? ErrorCode::UnknownOutcome : ErrorCode::Unavailable;
    case FailureKind::Unique: return ErrorCode::Conflict;
    case FailureKind::Invariant:
    case FailureKind::Damaged: return ErrorCode::Corrupt;
    case FailureKind::Misuse: return ErrorCode::Internal;
  }
  return ErrorCode::Internal;
}

}  // namespace

Error to_error(const Failure& failure, During during) {
  return {code_of(failure.kind(), during),
          "database: " + std::string(failure.what()) + " (" + std::string(to_string(failure.kind())) + ")"};
}

}  // namespace penstock::sql
