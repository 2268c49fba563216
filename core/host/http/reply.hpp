// The server's side of HttpReply and HttpStream: they hold the connection and hand it what they are
// given. Thread-safe; usable after the server has gone, then without effect.
#pragma once

#include "host/http/connection.hpp"

#include <atomic>
#include <memory>

namespace penstock::host::http {

class ReplySink final : public HttpReply::Sink {
 public:
  explicit ReplySink(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~ReplySink() override;  // unanswered: 500, and the log names the route
  void send(HttpResponse response) override;
  std::shared_ptr<HttpStream> stream() override;

 private:
  std::shared_ptr<Connection> connection_;  // null once answered
};

// State of an event stream that its holder and its connection share.
class EventStream final : public HttpStream {
 public:
  explicit EventStream(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~EventStream() override { close(); }
  bool send_event(std::string_view id, std::string_view event, std::string_view data) override;
  bool open() const override;
  void close() override;

 private:
  const std::shared_ptr<Connection> connection_;
  std::atomic<bool> closed_{false};
};

}  // namespace penstock::host::http
