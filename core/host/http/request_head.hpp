// The head of one request: parsed by Beast's basic_parser into views of the bytes it was read from,
// without allocating, and judged more strictly than the grammar demands.
//
// Everything that leaves doubt about where a request ends, or that could be read differently by a proxy
// in front, is refused: folded headers, bare line feeds, repeated headers of which only one can count,
// a length beside a transfer coding, any transfer coding. No thread rule: plain functions.
#pragma once

#include "penstock/http.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::host::http {

inline constexpr std::size_t kMaxHeaders = 64;

enum class Verb { Get, Head, Post, Put, Delete, Other };
inline constexpr std::size_t kVerbs = 6;
std::string_view to_string(Verb verb);

// An answer the server gives by itself. Constant texts: nothing of the request is echoed.
struct Refusal {
  int status;
  std::string_view code;
  std::string_view detail;
};

struct HeadLimits {
  std::size_t max_head_bytes;
  std::size_t max_target_bytes;
};

struct RequestHead {
  Verb verb = Verb::Other;
  std::string_view path;   // as sent, percent-encoded
  std::string_view query;  // without the '?'
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  std::optional<std::uint64_t> content_length;
  std::size_t size = 0;  // bytes of the head with its empty line
  bool keep_alive = false;
  bool expects_continue = false;

  std::size_t body_size() const { return static_cast<std::size_t>(content_length.value_or(0)); }
  std::optional<std::string_view> header(std::string_view name) const;
};

enum class HeadState { Incomplete, Complete, Refused };

// Looks for a whole head at the start of `bytes`. Complete: `head` views into `bytes`. Refused: `refusal`
// says why, and the connection cannot be used any further.
HeadState parse_head(std::string_view bytes, const HeadLimits& limits, RequestHead& head, Refusal& refusal);

// ASCII only, as header names are.
bool equals_ignoring_case(std::string_view left, std::string_view right);

}  // namespace penstock::host::http
