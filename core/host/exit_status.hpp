// The exit statuses of the program: a public interface, used by scripts and service managers.
#pragma once

#include "penstock/result.hpp"

namespace penstock::host {

enum ExitStatus : int {
  kExitOk = 0,
  kExitNo = 1,          // the command ran, and its answer is no: the books do not balance, not found
  kExitUsage = 2,       // the command line or the configuration is wrong; nothing was done
  kExitDependency = 3,  // a database, broker, port or file refused or is away: trying later can help
  kExitDefect = 4,      // a plugin or this program broke its own rules
  kExitOverrun = 5,     // a plugin did not come back within its deadline; the process was ended
};
// A second signal during shutdown ends the process at once with 128 + its number.
inline constexpr int kExitSignalled = 128;

constexpr ExitStatus exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return kExitUsage;
    case ErrorCode::NotFound:
    case ErrorCode::Conflict: return kExitNo;
    case ErrorCode::NotLoaded:
    case ErrorCode::Unavailable:
    case ErrorCode::Overloaded:
    case ErrorCode::Timeout:
    case ErrorCode::UnknownOutcome:
    case ErrorCode::Closed: return kExitDependency;
    case ErrorCode::Corrupt:
    case ErrorCode::Internal: return kExitDefect;
  }
  return kExitDefect;
}

}  // namespace penstock::host
