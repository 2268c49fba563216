#include "host/context/log_line.hpp"

#include "host/escape.hpp"

#include "penstock/json.hpp"

#include <array>
#include <cstdio>

namespace penstock::host {
namespace {

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of(" =\"\\") != std::string_view::npos;
}

void append_value(std::string& out, std::string_view value) {
  const auto safe = escaped(value);
  if (needs_quotes(value) || safe.size() != value.size())
    out += '"' + safe + '"';
  else
    out += safe;
}

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::Debug: return "debug";
    case LogLevel::Info: return "info";
    case LogLevel::Warn: return "warn";
    case LogLevel::Error: return "error";
  }
  return "error";
}

std::string iso_time(TimePoint time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(time - days);
  std::array<char, 48> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string to_text(const LogLine& line, std::size_t max_value) {
  std::string out = iso_time(line.time);
  out += ' ';
  out += to_string(line.level);
  out += ' ';
  out += escaped(line.event);
  if (!line.plugin.empty()) {
    out += " plugin=";
    append_value(out, line.plugin);
  }
  for (const auto& field : line.fields) {
    out += ' ';
    out += escaped(field.key);
    out += '=';
    append_value(out, shortened(field.value, max_value));
  }
  return out;
}

std::string to_json(const LogLine& line, std::size_t max_value) {
  json::Writer writer;
  writer.begin_object();
  writer.key("time").string(iso_time(line.time));
  writer.key("level").string(to_string(line.level));
  writer.key("event").string(valid_utf8(line.event));
  if (!line.plugin.empty()) writer.key("plugin").string(valid_utf8(line.plugin));
  for (const auto& field : line.fields) {
    writer.key(valid_utf8(field.key)).string(valid_utf8(shortened(field.value, max_value)));
  }
  return writer.end_object().take();
}

}  // namespace penstock::host
