#include "host/serve/application.hpp"

#include "host/serve/server.hpp"

#include <Poco/Util/ServerApplication.h>

#include <signal.h>

#include <array>
#include <string>

namespace penstock::host {
namespace {

// Poco's application object puts its own handlers on the signals of a crash, which hide the place of
// the crash from the core dump and from sanitizers. This keeps those that were there before.
class KeepCrashHandlers {
 public:
  KeepCrashHandlers() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &before_[i]);
  }
  ~KeepCrashHandlers() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  KeepCrashHandlers(const KeepCrashHandlers&) = delete;
  KeepCrashHandlers& operator=(const KeepCrashHandlers&) = delete;

 private:
  static constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGILL};
  std::array<struct sigaction, kSignals.size()> before_{};
};

class Application : public Poco::Util::ServerApplication {
 public:
  explicit Application(const Deployment& deployment) : deployment_(deployment) {}

 protected:
  // Poco's waitForTerminationRequest is not used: it blocks the signals too late, knows nothing of
  // SIGHUP and has no deadline.
  int main(const std::vector<std::string>&) override { return serve(deployment_); }

 private:
  const Deployment& deployment_;
};

}  // namespace

int run_application(const Deployment& deployment, const char* program) {
  const auto application = [&] {
    const KeepCrashHandlers keep;
    return std::make_unique<Application>(deployment);
  }();
  // Only the program's name: our command line is parsed already, and Poco's own options (daemon,
  // pidfile) are a service manager's work.
  std::string name(program);
  char* arguments[] = {name.data(), nullptr};
  return application->run(1, arguments);
}

}  // namespace penstock::host
