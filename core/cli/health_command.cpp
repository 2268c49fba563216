#include "cli/operator_client.hpp"

#include <charconv>
#include <chrono>
#include <ostream>
#include <thread>

namespace penstock::cli {
namespace {

constexpr Milliseconds kAnswerLimit{2'000};
constexpr auto kBetweenTries = std::chrono::milliseconds(50);
constexpr int kMaxWaitSeconds = 3'600;

Result<std::chrono::seconds> wait_from(const Invocation& invocation) {
  if (!invocation.has("--wait")) return std::chrono::seconds(0);
  const auto& text = invocation.options.find("--wait")->second;
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || seconds < 0 || seconds > kMaxWaitSeconds) {
    return Error{ErrorCode::InvalidArgument, "--wait: found " + host::quoted(text) + ", allowed 0 to " +
                                                 std::to_string(kMaxWaitSeconds) + " seconds"};
  }
  return std::chrono::seconds(seconds);
}

Result<OperatorAnswer> ask_until_ready(const OperatorAddress& address, std::chrono::seconds wait) {
  const auto deadline = std::chrono::steady_clock::now() + wait;
  for (;;) {
    auto answer = ask_operator(address, "/health/ready", kAnswerLimit);
    if ((answer && answer->status == 200) || std::chrono::steady_clock::now() >= deadline) return answer;
    std::this_thread::sleep_for(kBetweenTries);
  }
}

int run_health(const Invocation& invocation) {
  const auto wait = wait_from(invocation);
  if (!wait) return report(invocation, wait.error());
  const auto checked = host::check_deployment(invocation.sources, invocation.installation);
  if (!checked.deployment) return report(invocation, checked.problems);
  const auto answer = ask_until_ready(operator_address(checked.deployment->config), *wait);
  if (!answer) return report(invocation, answer.error());
  invocation.out << answer->body << '\n';
  return answer->status == 200 ? host::kExitOk : host::kExitNo;
}

constexpr OptionSpec kOptions[] = {
    {"--wait", "SECONDS", "keep asking until it is ready, at most this long (default 0)"}};

constexpr Command kCommands[] = {
    {"health", "", 0, 0, kOptions, "ask a running server whether it is ready, and why not",
     "Asks /health/ready on http.operator.host and .port of the configuration and prints the answer.\n"
     "Exit status: 0 ready, 1 not ready, 3 nobody answers.",
     &run_health},
};

}  // namespace

std::span<const Command> health_commands() {
  return kCommands;
}

}  // namespace penstock::cli
