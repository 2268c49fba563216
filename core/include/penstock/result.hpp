// Result: what a call into the environment came to, and whether asking again can help.
//
// Outcomes that a caller expects (out of stock, duplicate, already released) are values of their
// own enums. `Error` is only for what the environment did: a server away, a deadline passed, a
// broken file. Exceptions never cross a plugin boundary.
#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace penstock {

enum class ErrorCode {
  InvalidArgument,  // the caller's input is wrong                              retry: no
  NotFound,         // the named thing does not exist                           retry: no
  Conflict,         // another state or version is in the way                   retry: no
  NotLoaded,        // the stock gate has no figures yet, nothing was changed   retry: yes
  Unavailable,      // a dependency is away or refuses, nothing was changed     retry: yes
  Overloaded,       // a bound was reached, nothing was changed                 retry: yes
  Timeout,          // a deadline passed before anything was sent               retry: yes
  UnknownOutcome,   // sent, never answered: read the key before doing anything retry: outcome unknown
  Corrupt,          // stored data breaks its own rules, an invariant is broken retry: no
  Closed,           // stopping, nothing was changed                            retry: no
  Internal,         // a defect in this program                                 retry: no
};

enum class Retry { No, Yes, OutcomeUnknown };

constexpr Retry retry_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::NotLoaded:
    case ErrorCode::Unavailable:
    case ErrorCode::Overloaded:
    case ErrorCode::Timeout: return Retry::Yes;
    case ErrorCode::UnknownOutcome: return Retry::OutcomeUnknown;
    default: return Retry::No;
  }
}

// The stable lower-case name used in logs and in `--json` output.
constexpr std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return "invalid_argument";
    case ErrorCode::NotFound: return "not_found";
    case ErrorCode::Conflict: return "conflict";
    case ErrorCode::NotLoaded: return "not_loaded";
    case ErrorCode::Unavailable: return "unavailable";
    case ErrorCode::Overloaded: return "overloaded";
    case ErrorCode::Timeout: return "timeout";
    case ErrorCode::UnknownOutcome: return "unknown_outcome";
    case ErrorCode::Corrupt: return "corrupt";
    case ErrorCode::Closed: return "closed";
    case ErrorCode::Internal: return "internal";
  }
  return "internal";
}

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;  // names the thing, what was found, what was needed, the next step

  Retry retry() const { return retry_of(code); }
};

// Either a value or an Error. Reading the wrong side is a defect and asserts.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const {
    assert(!ok_);
    return error_;
  }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace penstock
