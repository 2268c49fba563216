// Structured log lines: `event key=value key=value`.
//
// error = someone must act; warn = it recovered by itself; info = lifecycle; debug = one order.
// Values are escaped by the host, so bytes from outside cannot forge a line. Never log bodies,
// tokens or secrets. Thread-safe; does not block on the reader of the log.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace penstock {

enum class LogLevel { Debug, Info, Warn, Error };

struct LogField {
  std::string_view key;
  std::string value;

  LogField(std::string_view k, std::string v) : key(k), value(std::move(v)) {}
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  template <std::integral N>
  LogField(std::string_view k, N v) : key(k), value(std::to_string(v)) {}
};

class Logger {
 public:
  virtual ~Logger() = default;
  virtual bool enabled(LogLevel level) const = 0;
  // `event` is lower_snake_case and constant: it is what people search for.
  virtual void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) = 0;

  using Fields = std::initializer_list<LogField>;
  void debug(std::string_view event, Fields fields) {
    if (enabled(LogLevel::Debug)) write(LogLevel::Debug, event, fields);
  }
  void info(std::string_view event, Fields fields) { write(LogLevel::Info, event, fields); }
  void warn(std::string_view event, Fields fields) { write(LogLevel::Warn, event, fields); }
  void error(std::string_view event, Fields fields) { write(LogLevel::Error, event, fields); }
};

// Lets one call site speak at most once per `every`, and tells how often it was silent meanwhile.
// Thread-safe.
class LogLimit {
 public:
  explicit LogLimit(std::chrono::milliseconds every) : every_(every) {}

  // True when the caller may log now; `suppressed` receives the number of calls since the last time.
  bool pass(std::uint64_t& suppressed) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    auto next = next_.load(std::memory_order_relaxed);
    if (now.count() < next ||
        !next_.compare_exchange_strong(next, (now + every_).count(), std::memory_order_relaxed)) {
      suppressed_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    suppressed = suppressed_.exchange(0, std::memory_order_relaxed);
    return true;
  }

 private:
  const std::chrono::steady_clock::duration every_;
  std::atomic<std::chrono::steady_clock::rep> next_{0};
  std::atomic<std::uint64_t> suppressed_{0};
};

}  // namespace penstock
