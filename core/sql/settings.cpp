#include "sql/settings.hpp"

namespace penstock::sql {

Settings settings_from(Context& context) {
  const auto& config = context.config();
  Settings settings;
  settings.path = context.paths().data / config.text("path");
  settings.readers = static_cast<std::size_t>(config.integer("readers"));
  settings.session_wait = config.duration("session_wait_ms");
  settings.busy_wait = config.duration("busy_wait_ms");
  settings.max_reruns = static_cast<int>(config.integer("max_reruns"));
  return settings;
}

}  // namespace penstock::sql
