// HTTP routes. The host owns the two listeners and all protocol work: framing, limits, time-outs,
// keep-alive, shedding. A plugin registers handlers and answers, at once or later.
//
// Thread rule: a handler runs on a listener thread and must not block; anything that waits goes to
// a lane or worker, which answers through the HttpReply from whatever thread it runs on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

enum class HttpMethod { Get, Post, Put, Delete };
enum class HttpListener { Public, Operator };

// Valid only during the handler's call: copy what is needed later.
class HttpRequest {
 public:
  virtual ~HttpRequest() = default;
  virtual HttpMethod method() const = 0;
  virtual std::string_view path() const = 0;
  virtual std::string_view body() const = 0;
  // Header value, names without regard to case. Printable ASCII only: the host answers 400 to others.
  virtual std::optional<std::string_view> header(std::string_view name) const = 0;
  // Part of the path that a `{name}` in the route matched; percent-decoded. Empty if there is none.
  virtual std::string_view param(std::string_view name) const = 0;
  // Query parameter, percent-decoded.
  virtual std::optional<std::string> query(std::string_view name) const = 0;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // visible ASCII values only
};

// An open server-sent-events stream (https://html.spec.whatwg.org/multipage/server-sent-events.html).
// Thread-safe; never blocks. The host sends the heartbeat comments and closes a client that does not
// read (its bounded queue is full).
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  // False when the client is gone: drop the stream.
  virtual bool send_event(std::string_view id, std::string_view event, std::string_view data) = 0;
  virtual bool open() const = 0;
  virtual void close() = 0;
};

// The right to answer one request, once. Movable to any thread. Dropped unanswered, the client gets
// a 500 and the log names the route.
class HttpReply {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void send(HttpResponse response) = 0;
    virtual std::shared_ptr<HttpStream> stream() = 0;
  };

  explicit HttpReply(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}
  HttpReply(HttpReply&&) noexcept = default;
  HttpReply& operator=(HttpReply&&) noexcept = default;

  // Effect: queues the answer and gives up the right to answer. Never blocks.
  void send(HttpResponse response) { std::exchange(sink_, nullptr)->send(std::move(response)); }
  // Effect: answers 200 text/event-stream and keeps the connection. Null when the listener's limit
  // of open streams is reached; the client then got 503 with Retry-After.
  std::shared_ptr<HttpStream> stream() { return std::exchange(sink_, nullptr)->stream(); }

 private:
  std::shared_ptr<Sink> sink_;
};

using HttpHandler = std::function<void(const HttpRequest&, HttpReply)>;

struct HttpRoute {
  HttpListener listener = HttpListener::Public;
  HttpMethod method = HttpMethod::Get;
  std::string path;  // "/api/orders/{orderNo}/cancel"; `{name}` matches one segment
  std::size_t max_body_bytes = 64 * 1024;
  HttpHandler handler;
};

class HttpRoutes {
 public:
  virtual ~HttpRoutes() = default;
  // Call in configure() or start(). The same method and path twice is a defect and throws
  // std::invalid_argument. Routes answer 503 until every plugin has started.
  virtual void add(HttpRoute route) = 0;
};

// RFC 9457 problem document. `code` is the stable name clients test for; `detail` is for people.
HttpResponse problem(int status, std::string_view code, std::string_view detail);
// The same with a Retry-After header, for 429 and 503.
HttpResponse problem_retry_after(int status, std::string_view code, std::string_view detail,
                                 int retry_after_seconds);

}  // namespace penstock
