// The log's settings as the configuration has them.
#pragma once

#include "host/config/checked_config.hpp"
#include "host/context/log_sink.hpp"

namespace penstock::host {

LogLevel log_level_of(const CheckedConfig& config);
LogFormat log_format_of(const CheckedConfig& config);

}  // namespace penstock::host
