// Log lines as text or JSON, without the line's end.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/logger.hpp"

#include <span>
#include <string>
#include <string_view>

namespace penstock::host {

struct LogLine {
  TimePoint time{};
  LogLevel level = LogLevel::Info;
  std::string_view event;
  std::string_view plugin;  // empty: the host's own
  std::span<const LogField> fields;
};

// Values longer than `max_value` bytes are cut.
//   2026-01-31T12:00:00.000Z info plugin_started plugin=order_intake took_ms=3
std::string to_text(const LogLine& line, std::size_t max_value);
//   {"time":"…","level":"info","event":"plugin_started","plugin":"order_intake","took_ms":"3"}
std::string to_json(const LogLine& line, std::size_t max_value);

std::string_view to_string(LogLevel level);
// 2026-01-31T12:00:00.000Z
std::string iso_time(TimePoint time);

}  // namespace penstock::host
