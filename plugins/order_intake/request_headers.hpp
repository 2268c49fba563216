// What the headers of a request say, or nothing where they say it wrongly.
#pragma once

#include "penstock/http.hpp"
#include "penstock/orders/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::order_intake {

// X-User-Id, set by the trusted gateway in front.
std::optional<orders::UserId> user_of(const HttpRequest& request);
// Content-Type names JSON; parameters other than a UTF-8 charset are refused.
bool is_json(const HttpRequest& request);
// Last-Event-ID; 0 when there is none.
std::optional<std::int64_t> last_sequence_of(const HttpRequest& request);
// traceparent, when it has the form of https://www.w3.org/TR/trace-context/; empty otherwise.
std::string trace_of(const HttpRequest& request);

}  // namespace penstock::order_intake
