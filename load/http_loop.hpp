// An HTTP client for load: thousands of keep-alive connections on one thread.
//
// Cheap on purpose, because it shares the machine with the server it measures: a descriptor is registered
// with epoll once and stays so, which saves a system call per request over Asio's waits, and a response
// is read where it lies. It reads what Penstock sends: responses with a Content-Length.
//
// Thread rule: a loop, its clients and its timers belong to the thread that runs it; stop() alone may
// come from elsewhere. Callbacks may send, start timers and stop the loop, but not destroy clients.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::load {

using Milliseconds = std::chrono::milliseconds;
using TimePoint = std::chrono::steady_clock::time_point;

// Why there is no status.
enum class Failure {
  None,
  Refused,    // no connection: the request was not sent
  Lost,       // the connection ended before the answer: outcome unknown
  TimedOut,   // no answer within the client's limit: outcome unknown
  Malformed,  // an answer that cannot be read: outcome unknown
};
std::string_view to_string(Failure failure);

// Views are valid during the callback.
struct Answer {
  int status = 0;
  Failure failure = Failure::None;
  std::string_view head;
  std::string_view body;
  std::chrono::nanoseconds latency{};
};

struct Target {
  std::string host = "127.0.0.1";  // an IPv4 address
  std::uint16_t port = 0;

  // "127.0.0.1:8080", also with "http://" before it. Throws std::invalid_argument.
  static Target parse(std::string_view text);
  std::string name() const { return host + ":" + std::to_string(port); }
};

class Client;

class Loop {
 public:
  explicit Loop(Target target);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until stop(), also one that came before. Throws std::runtime_error if epoll fails.
  void run();
  void stop() { stopping_ = true; }
  void after(Milliseconds delay, std::function<void()> task);
  const Target& target() const { return target_; }

 private:
  friend class Client;
  struct Timer {
    TimePoint at;
    std::uint64_t order;
    std::function<void()> task;
    bool operator<(const Timer& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  void run_due();
  int wait_limit() const;
  void cut_overdue();

  const Target target_;
  int epoll_;
  std::atomic<bool> stopping_{false};
  std::priority_queue<Timer> timers_;
  std::uint64_t timers_made_ = 0;
  std::vector<Client*> clients_;
  std::vector<char> input_ = std::vector<char>(64 * 1024);
};

// One connection, one request at a time. Connects when there is something to send and again after the
// server has closed.
class Client {
 public:
  using Done = std::function<void(const Answer&)>;

  Client(Loop& loop, Milliseconds limit);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Effect: sends the whole request and calls `done` once, later. Needs !busy().
  void send(std::string_view request, Done done);
  bool busy() const { return static_cast<bool>(done_); }
  bool connected() const { return socket_ >= 0 && !connecting_; }

 private:
  friend class Loop;
  void on_event(std::uint32_t events);
  bool open_socket();
  void flush();
  void read();
  // False when the response is not complete, and nothing was done.
  bool read_response(std::string_view bytes);
  void finish(const Answer& answer);
  void fail(Failure failure);
  void hang_up();
  void watch(bool writable);

  Loop& loop_;
  const Milliseconds limit_;
  std::size_t index_;
  int socket_ = -1;
  bool connecting_ = false;
  bool watching_writable_ = false;
  TimePoint sent_at_{};
  std::string output_;
  std::size_t output_done_ = 0;
  std::string input_;
  Done done_;
};

}  // namespace penstock::load
