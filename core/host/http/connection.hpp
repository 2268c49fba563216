// One client's connection: reads a request, hands it to its route, writes the answer, begins again.
//
// What it has received and not used waits in `pending_`, what the socket did not take in `unsent_`; both
// are empty, without memory, on a connection that is idle or whose requests come in one piece.
// Everything belongs to the loop's thread but what says otherwise.
#pragma once

#include "host/http/event_loop.hpp"
#include "host/http/listener.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <atomic>
#include <optional>

namespace penstock::host::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<EventLoop> loop, std::shared_ptr<Listener> listener,
             boost::asio::ip::tcp::socket socket, bool over_limit);

  // For replies and streams; thread-safe.
  void deliver(Message::Kind kind, HttpResponse response);
  bool reserve_stream();  // false: the listener has as many as it may have
  bool reserve_stream_bytes(std::size_t bytes);
  bool streaming() const { return streaming_; }

  // For the loop.
  void start();
  void receive(Message& message);
  void tick(Deadline now);
  void close();
  bool busy() const { return phase_ == Phase::Handling; }
  std::size_t index = 0;  // its place in the loop's list

 private:
  enum class Phase { Head, Body, Handling, Streaming, Lingering, Closed };

  void await_readable();
  void on_readable(const boost::system::error_code& error);
  void take(std::string_view bytes);
  void discard(std::string_view bytes);

  void proceed(std::string_view bytes, std::string& out);
  bool serve(std::string_view bytes, std::string& out);
  std::size_t serve_one(std::string_view bytes, std::string& out);
  void keep(std::string_view bytes, std::size_t used);

  std::optional<HttpResponse> look_up(const RequestHead& head);
  std::size_t answer_early(HttpResponse response, std::size_t total, bool whole, std::string& out);
  std::size_t await_body(const RequestHead& head, bool none_yet, std::string& out);
  bool admit(std::string& out);
  void handle(const RequestHead& head, std::string_view body, std::string& out);
  void call_handler(const RequestHead& head, std::string_view body);

  void complete(Message::Kind kind, HttpResponse response, std::string& out);
  void refuse(const Refusal& refusal, Refused reason, std::string& out);
  void answer(const HttpResponse& response, std::string& out);
  void observe(int status);

  void begin_stream(std::string& out);
  void append_stream(std::string& text);
  void end_stream();
  void release_stream();

  bool write(std::string& out);
  void await_writable();
  void on_writable(const boost::system::error_code& error);
  void await_next();
  void linger();
  void expire();
  void drain(Deadline now);
  std::string& empty_output();

  const std::shared_ptr<EventLoop> loop_;
  const std::shared_ptr<Listener> listener_;
  boost::asio::ip::tcp::socket socket_;
  const bool over_limit_;
  Phase phase_ = Phase::Head;
  bool reading_ = false;      // a wait for readability is outstanding
  bool head_begun_ = true;    // the header deadline runs: from the connect, then from each first byte
  bool close_after_ = false;  // the answer being made or written is the last
  Verb verb_ = Verb::Other;
  const Route* route_ = nullptr;
  Deadline deadline_ = Deadline::max();
  Deadline began_{};           // when the request's head was complete
  std::size_t needed_ = 0;     // Body: bytes in pending_ that make the request whole
  std::size_t discarded_ = 0;  // Lingering and Streaming: bytes that nobody asked for
  std::string pending_;
  std::string unsent_;
  std::atomic<bool> streaming_{false};
  std::atomic<std::size_t> posted_event_bytes_{0};
};

}  // namespace penstock::host::http
