#include "cli/command.hpp"

#include "host/problem.hpp"

#include "penstock/json.hpp"

#include <ostream>

namespace penstock::cli {

int report(const Invocation& invocation, const host::Problems& problems) {
  if (invocation.json) {
    invocation.out << host::to_json(problems) << '\n';
  } else {
    for (const auto& problem : problems) invocation.err << "error: " << host::to_text(problem) << '\n';
  }
  return host::kExitUsage;
}

int report(const Invocation& invocation, const Error& error) {
  if (invocation.json) {
    json::Writer writer;
    writer.begin_object().key("error").begin_object();
    writer.key("code").string(to_string(error.code)).key("message").string(error.message);
    invocation.out << writer.end_object().end_object().take() << '\n';
  } else {
    invocation.err << "error: " << error.message << '\n';
  }
  return host::exit_status_of(error.code);
}

}  // namespace penstock::cli
