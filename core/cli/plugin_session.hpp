// PluginSession: the plugins behind one subcommand, started without listeners and stopped at the end.
//
//   return with_plugins(invocation, {"stock_books"}, [&](host::Host& host) {
//     auto books = host.service<orders::StockBooks>().books();
//     ...
//     return host::kExitOk;
//   });
#pragma once

#include "cli/command.hpp"
#include "host/host.hpp"

#include <functional>
#include <initializer_list>
#include <string_view>

namespace penstock::cli {

// Effect: checks the configuration, starts the selected plugins that provide `services` and what they
// require, runs `work`, stops them. Every problem or error is reported; the result is the exit status.
// The plugins log to stderr from warn upwards, or as `log.level` says when it was set.
int with_plugins(const Invocation& invocation, std::initializer_list<std::string_view> services,
                 const std::function<int(host::Host&)>& work);

}  // namespace penstock::cli
