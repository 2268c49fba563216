#include "host/context/log_sink.hpp"

#include "host/context/log_line.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace penstock::host {
namespace {

constexpr std::size_t kMaxValue = 1024;
// Escaping makes a byte up to six, and a line has few fields: with this limit it always fits.
constexpr std::size_t kMaxValueOfLongLine = 48;

std::string render(const LogLine& line, LogFormat format, std::size_t max_value) {
  return format == LogFormat::Json ? to_json(line, max_value) : to_text(line, max_value);
}

bool would_block(int descriptor) {
  pollfd poll_for{descriptor, POLLOUT, 0};
  return ::poll(&poll_for, 1, 0) <= 0;
}

}  // namespace

void LogSink::write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  write_for({}, level, event, {fields.begin(), fields.size()});
}

void LogSink::write_for(std::string_view plugin, LogLevel level, std::string_view event,
                        std::span<const LogField> fields) {
  if (!enabled(level)) return;
  const LogLine line{clock_.now(), level, event, plugin, fields};
  auto text = render(line, format_, kMaxValue);
  if (text.size() >= kMaxLine) text = render(line, format_, kMaxValueOfLongLine);
  if (text.size() >= kMaxLine) text.resize(kMaxLine - 1);

  const std::lock_guard lock(mutex_);
  if (dropped_ > 0) {
    const LogField count[] = {{"count", dropped_}};
    if (!put(render({line.time, LogLevel::Warn, "log_lines_dropped", {}, count}, format_, kMaxValue))) {
      ++dropped_;
      return;
    }
    dropped_ = 0;
  }
  if (!put(text)) ++dropped_;
}

bool LogSink::put(const std::string& line) {
  if (would_block(descriptor_)) return false;
  const auto bytes = line + '\n';
  ssize_t written = 0;
  do {
    written = ::write(descriptor_, bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  return written == static_cast<ssize_t>(bytes.size());
}

}  // namespace penstock::host
