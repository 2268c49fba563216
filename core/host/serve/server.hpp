// Server: one serving process, from its checked deployment to a clean end.
//
//   listeners bound, answering 503 → plugins loaded, configured, started → routes open, ready
//   signal → readiness 503 → requests drained, listeners closed → plugins stopped in reverse → exit 0
#pragma once

#include "host/deployment.hpp"

namespace penstock::host {

// Blocks until a signal ends it. block_signals() was called before any thread existed.
// The result is the exit status; everything worth telling goes to the log on standard error.
int serve(const Deployment& deployment);

}  // namespace penstock::host
