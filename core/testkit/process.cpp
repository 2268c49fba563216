#include "penstock/testkit/process.hpp"

#include "penstock/testkit/wait_until.hpp"

#include <cppunit/TestAssert.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace penstock::testkit {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const std::filesystem::path& folder,
                 const std::vector<std::string>& environment)
    : out_(folder / "out"), err_(folder / "err") {
  auto arguments = command;
  auto variables = environment;
  for (char** entry = environ; *entry; ++entry) variables.emplace_back(*entry);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr int kFlags = O_CREAT | O_TRUNC | O_WRONLY;
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out_.c_str(), kFlags, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err_.c_str(), kFlags, 0600);
  const int failed = posix_spawn(&pid_, arguments[0].c_str(), &files, nullptr, pointers(arguments).data(),
                                 pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  CPPUNIT_ASSERT_EQUAL_MESSAGE("cannot start " + command[0], 0, failed);
}

Process::~Process() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const {
  CPPUNIT_ASSERT_EQUAL(0, ::kill(pid_, number));
}

bool Process::running() {
  if (status_ >= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return false;
}

int Process::wait(std::chrono::milliseconds limit) {
  return testkit::wait_until([&] { return !running(); }, limit) ? status_ : -1;
}

std::string Process::out() const {
  return read(out_);
}
std::string Process::err() const {
  return read(err_);
}

}  // namespace penstock::testkit
