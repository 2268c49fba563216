#include "host/serve/log_settings.hpp"

#include "host/context/log_line.hpp"

namespace penstock::host {

LogLevel log_level_of(const CheckedConfig& config) {
  const auto name = config.text("log.level");
  for (const auto level : {LogLevel::Debug, LogLevel::Info, LogLevel::Warn}) {
    if (name == to_string(level)) return level;
  }
  return LogLevel::Error;
}

LogFormat log_format_of(const CheckedConfig& config) {
  return config.text("log.format") == "json" ? LogFormat::Json : LogFormat::Text;
}

}  // namespace penstock::host
