// A program started beside this one, and what the kernel says that it used.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <string>
#include <vector>

namespace penstock::load {

struct Usage {
  double cpu_seconds = 0;
  long threads = 0;
  long rss_kib = 0;
  long peak_rss_kib = 0;
};
Usage usage_of(pid_t process);
double own_cpu_seconds();

class ChildProcess {
 public:
  // Its standard output and error go to the file `log`. Throws std::system_error.
  ChildProcess(const std::vector<std::string>& command, const std::string& log);
  ~ChildProcess();  // killed, if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  // SIGTERM, then waits. False when it had to be killed at the limit, or did not exit with 0.
  bool terminate(std::chrono::milliseconds limit);
  // Waits for the end. True when it exited with 0.
  bool wait();

 private:
  bool take_status(int options);

  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace penstock::load
