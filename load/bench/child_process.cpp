#include "load/bench/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

extern char** environ;

namespace penstock::load {
namespace {

long from_status(pid_t process, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::strtol(line.c_str() + name.size() + 1, nullptr, 10);
  }
  return 0;
}

double cpu_seconds_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // The second field is the program's name in brackets, which may hold blanks.
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

Usage usage_of(pid_t process) {
  return {cpu_seconds_of(process), from_status(process, "Threads"), from_status(process, "VmRSS"),
          from_status(process, "VmHWM")};
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const auto& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const int error = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start " + command[0]);
}

ChildProcess::~ChildProcess() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  wait();
}

bool ChildProcess::running() {
  return !take_status(WNOHANG);
}

bool ChildProcess::wait() {
  take_status(0);
  return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

bool ChildProcess::terminate(std::chrono::milliseconds limit) {
  if (running()) ::kill(pid_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (running()) {
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(pid_, SIGKILL);
      return wait(), false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return wait();
}

bool ChildProcess::take_status(int options) {
  while (!ended_) {
    const pid_t found = ::waitpid(pid_, &status_, options);
    if (found == 0) return false;
    ended_ = found == pid_ || errno != EINTR;
  }
  return true;
}

}  // namespace penstock::load
