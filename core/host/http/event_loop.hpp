// One io thread: its io_context, the connections that live on it, the buffers they take turns with.
//
// A connection never leaves its loop, so it needs no lock. Other threads reach it through post(): the
// messages that arrive while the loop is busy are taken in one go, and wake it once.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/http.hpp"

#include <utility>  // before Asio: its 1.74 coroutine headers need std::exchange under C++20

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "host/http/request_head.hpp"
#include "host/http/route_table.hpp"

#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace penstock::host::http {

class Connection;
class Listener;

// Something another thread has for a connection.
struct Message {
  enum class Kind { Answer, Dropped, OpenStream, StreamText, EndStream };
  Kind kind;
  std::shared_ptr<Connection> connection;
  HttpResponse response;  // StreamText: only its body
};

class EventLoop : public std::enable_shared_from_this<EventLoop> {
 public:
  static constexpr Milliseconds kSweep{100};  // how late a time-out may be noticed

  explicit EventLoop(std::vector<std::shared_ptr<Listener>> listeners) : listeners_(std::move(listeners)) {}

  void start(int number);
  // Effect: closes what is left on the loop and ends its thread. Returns how many requests that cut.
  std::size_t stop();

  // Thread-safe. False once the loop has ended.
  bool post(Message message);
  boost::asio::io_context& context() { return context_; }

  // The rest is for the loop's own thread.
  void adopt(std::shared_ptr<Connection> connection);
  void forget(Connection& connection);
  Deadline now() const { return std::chrono::steady_clock::now(); }
  std::string_view date_header();

  // Shared by the loop's connections, each for the length of one call.
  std::vector<char> input = std::vector<char>(16 * 1024);  // bounds what one client can make us keep
  std::string output;
  RequestHead head;
  Params params;
  std::string allow;
  // What a handler answered before it returned; takes the short way past the inbox.
  std::optional<Message> inline_answer;

 private:
  void run(int number);
  void take_messages();
  void sweep();
  void cut_all();

  const std::vector<std::shared_ptr<Listener>> listeners_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ =
      boost::asio::make_work_guard(context_);
  boost::asio::steady_timer timer_{context_};
  std::vector<std::shared_ptr<Connection>> connections_;
  std::vector<Message> taken_;
  std::size_t cut_ = 0;
  bool ending_ = false;
  std::time_t date_second_ = 0;
  char date_[64] = "";

  std::mutex inbox_mutex_;
  std::vector<Message> inbox_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace penstock::host::http
