// LogSink: one line per event on a file descriptor, as key=value text or as a JSON object.
//
// A line is written with one call of at most kMaxLine bytes, so lines of several threads never mix.
// A reader that does not read must not stop the orders: where a write would block, the line is
// dropped and counted, and the next line that gets through says how many were lost.
// Thread-safe.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/logger.hpp"

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace penstock::host {

enum class LogFormat { Text, Json };

class LogSink : public Logger {
 public:
  static constexpr std::size_t kMaxLine = 4096;  // PIPE_BUF: written to a pipe in one piece

  LogSink(int descriptor, LogLevel level, LogFormat format, const Clock& clock)
      : descriptor_(descriptor), level_(level), format_(format), clock_(clock) {}

  bool enabled(LogLevel level) const override { return level >= level_; }
  void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) override;
  // `plugin` is empty for the host's own lines.
  void write_for(std::string_view plugin, LogLevel level, std::string_view event,
                 std::span<const LogField> fields);

 private:
  bool put(const std::string& line);

  const int descriptor_;
  const LogLevel level_;
  const LogFormat format_;
  const Clock& clock_;
  std::mutex mutex_;
  std::uint64_t dropped_ = 0;
};

// The lines of one plugin.
class PluginLogger : public Logger {
 public:
  PluginLogger(LogSink& sink, std::string plugin) : sink_(sink), plugin_(std::move(plugin)) {}
  bool enabled(LogLevel level) const override { return sink_.enabled(level); }
  void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) override {
    sink_.write_for(plugin_, level, event, {fields.begin(), fields.size()});
  }

 private:
  LogSink& sink_;
  const std::string plugin_;
};

}  // namespace penstock::host
