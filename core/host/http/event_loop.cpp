#include "host/http/event_loop.hpp"

#include "host/http/connection.hpp"
#include "host/http/listener.hpp"

#include <boost/asio/post.hpp>

#include <pthread.h>

#include <ctime>

namespace penstock::host::http {
namespace {

constexpr std::size_t kKeptCapacity = 256 * 1024;  // of the shared output buffer

}  // namespace

void EventLoop::start(int number) {
  thread_ = std::thread([this, number] { run(number); });
}

std::size_t EventLoop::stop() {
  if (!thread_.joinable()) return 0;
  boost::asio::post(context_, [this] { cut_all(); });
  thread_.join();
  return cut_;
}

void EventLoop::run(int number) {
  pthread_setname_np(pthread_self(), ("http-" + std::to_string(number)).c_str());
  sweep();
  context_.run();
  std::vector<Message> unread;
  const std::lock_guard lock(inbox_mutex_);
  ended_ = true;
  unread.swap(inbox_);
}

bool EventLoop::post(Message message) {
  const std::lock_guard lock(inbox_mutex_);
  if (ended_) return false;
  inbox_.push_back(std::move(message));
  if (inbox_.size() == 1) boost::asio::post(context_, [this] { take_messages(); });
  return true;
}

void EventLoop::take_messages() {
  {
    const std::lock_guard lock(inbox_mutex_);
    taken_.swap(inbox_);
  }
  for (Message& message : taken_) message.connection->receive(message);
  taken_.clear();
}

void EventLoop::adopt(std::shared_ptr<Connection> connection) {
  connection->index = connections_.size();
  connections_.push_back(connection);
  if (ending_) return connection->close();
  connection->start();
}

void EventLoop::forget(Connection& connection) {
  const std::size_t index = connection.index;
  std::shared_ptr<Connection> gone = std::move(connections_[index]);
  if (index + 1 != connections_.size()) {
    connections_[index] = std::move(connections_.back());
    connections_[index]->index = index;
  }
  connections_.pop_back();
}

// One timer for all connections: a walk over a few thousand deadlines ten times a second costs less
// than a timer per connection that every request moves.
void EventLoop::sweep() {
  if (ending_) return;
  const Deadline at = now();
  for (std::size_t i = connections_.size(); i-- > 0;) {
    const auto connection = connections_[i];  // it may close and leave the list
    connection->tick(at);
  }
  for (const auto& listener : listeners_) listener->publish_gauges();
  if (output.capacity() > kKeptCapacity) std::string().swap(output);
  timer_.expires_after(kSweep);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) sweep();
  });
}

void EventLoop::cut_all() {
  ending_ = true;
  for (std::size_t i = connections_.size(); i-- > 0;) {
    const auto connection = connections_[i];
    if (connection->busy()) ++cut_;
    connection->close();
  }
  timer_.cancel();
  work_.reset();
}

std::string_view EventLoop::date_header() {
  const std::time_t second = std::time(nullptr);
  if (second != date_second_) {
    date_second_ = second;
    std::tm parts{};
    gmtime_r(&second, &parts);
    std::strftime(date_, sizeof date_, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
  }
  return date_;
}

}  // namespace penstock::host::http
