// HttpServer: the two listeners (public, operator) on Boost.Beast and Asio, behind std types only.
//
// A few io threads carry all connections: a connection costs a socket and a few hundred bytes, never
// a thread, and an idle one holds no buffer. Each connection has one request in progress; what a
// client pipelines after it waits in the socket until that one is answered, so answers keep their order.
//
// Thread rule: add(), open() and port() may be called from any thread; start() and drain() by one
// owner. Handlers run on the io threads; replies and streams may be used from any thread, also after
// the server is gone (they then do nothing).
#pragma once

#include "penstock/clock.hpp"
#include "penstock/http.hpp"
#include "penstock/logger.hpp"
#include "penstock/metrics.hpp"
#include "penstock/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::host {

struct HttpListenerSettings {
  std::string key;  // "http.public": names the listener in messages and metrics
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;                      // 0 = any free port, see HttpServer::port()
  std::size_t max_connections = 10'000;        // one more is answered 503 with Retry-After and closed
  std::size_t max_in_flight = 10'000;          // requests handed out and not answered yet; over it 503
  std::size_t max_streams = 1'000;             // open event streams; over it 503
  std::size_t max_header_bytes = 8 * 1024;     // request line and headers; over it 431
  std::size_t max_target_bytes = 2 * 1024;     // path and query; over it 414
  std::size_t max_body_bytes = 1024 * 1024;    // caps every route's own limit; over it 413
  std::size_t stream_queue_bytes = 64 * 1024;  // unsent events of one client; over it it is closed
  Milliseconds header_timeout{10'000};    // from a request's first byte (or the connect) to its last header
  Milliseconds body_timeout{30'000};      // from the last header to the last body byte
  Milliseconds idle_timeout{75'000};      // between two requests
  Milliseconds write_timeout{30'000};     // until the client has taken an answer
  Milliseconds stream_heartbeat{15'000};  // comment lines on an event stream that has nothing to say
};

struct HttpServerSettings {
  int io_threads = 2;  // shared by both listeners
  HttpListenerSettings public_listener{.key = "http.public"};
  HttpListenerSettings operator_listener{.key = "http.operator"};
  // What the operator listener answers before open(): a path, or a prefix if it ends in '/'.
  std::vector<std::string> always_open{"/health/", "/metrics"};
};

class HttpServer : public HttpRoutes {
 public:
  // `logger` and `metrics` outlive the server.
  HttpServer(HttpServerSettings settings, Logger& logger, Metrics& metrics);
  ~HttpServer() override;  // cuts what is left
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void add(HttpRoute route) override;

  // Effect: binds both listeners and starts the io threads. Every route but `always_open` answers 503
  // until open(). Also raises the process's soft limit of open files to its hard limit.
  // Errors: Unavailable, naming host, port and key that cannot be bound; nothing is left open then.
  Result<void> start();
  void open();
  // Valid after start().
  std::uint16_t port(HttpListener listener) const;

  // Effect: accepts no more connections, answers what is in progress with `Connection: close`, ends
  // streams and idle connections, and returns when all are gone or at the deadline, then cuts the
  // rest and ends the threads. The operator listener goes last. Blocks until then. Idempotent.
  // Returns how many requests were cut unanswered.
  std::size_t drain(Deadline deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::host
