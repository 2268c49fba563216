// Asks a running server over its operator listener.
#pragma once

#include "cli/command.hpp"

#include "penstock/clock.hpp"
#include "penstock/result.hpp"

#include <cstdint>
#include <string>

namespace penstock::cli {

struct OperatorAddress {
  std::string host;
  std::uint16_t port = 0;
  std::string text() const { return host + ":" + std::to_string(port); }
};

struct OperatorAnswer {
  int status = 0;
  std::string body;
};

// http.operator.host and .port of a checked configuration.
OperatorAddress operator_address(const host::CheckedConfig& config);

// Errors: Unavailable when nobody listens there, Timeout when no answer came in time.
Result<OperatorAnswer> ask_operator(const OperatorAddress& address, const std::string& path,
                                    Milliseconds limit);

}  // namespace penstock::cli
