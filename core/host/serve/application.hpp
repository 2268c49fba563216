// The serving process as a Poco application.
#pragma once

#include "host/deployment.hpp"

namespace penstock::host {

// Runs serve() inside Poco's ServerApplication and returns its exit status. Once per process.
int run_application(const Deployment& deployment, const char* program);

}  // namespace penstock::host
