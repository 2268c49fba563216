#include "host/http/connection.hpp"

#include "host/http/reply.hpp"
#include "host/http/response_writer.hpp"

#include <boost/asio/buffer.hpp>

#include <exception>

namespace penstock::host::http {
namespace {

using boost::system::error_code;
namespace asio = boost::asio;

constexpr std::size_t kEnoughOutput = 128 * 1024;  // pipelined answers gathered before they are written
constexpr std::size_t kMaxDiscarded = 1024 * 1024;
constexpr Milliseconds kLinger{2'000};
constexpr Milliseconds kDrainIdle{200};  // lets requests that are under way arrive
constexpr Milliseconds kDrainHead{1'000};

constexpr Refusal kTooLarge{413, "BODY_TOO_LARGE", "The body is larger than this route accepts."};
constexpr Refusal kTooSlow{408, "REQUEST_TIMEOUT", "The request did not arrive in time."};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kHeartbeat = ":\n\n";

// The connection whose handler runs on this thread, if any.
thread_local const Connection* t_handling = nullptr;

class RequestView final : public HttpRequest {
 public:
  RequestView(HttpMethod method, const RequestHead& head, std::string_view body, const Params& params)
      : method_(method), head_(head), body_(body), params_(params) {}

  HttpMethod method() const override { return method_; }
  std::string_view path() const override { return head_.path; }
  std::string_view body() const override { return body_; }
  std::optional<std::string_view> header(std::string_view name) const override { return head_.header(name); }
  std::optional<std::string> query(std::string_view name) const override {
    return query_value(head_.query, name);
  }
  std::string_view param(std::string_view name) const override {
    for (const auto& [key, value] : params_) {
      if (key == name) return value;
    }
    return {};
  }

 private:
  const HttpMethod method_;
  const RequestHead& head_;
  const std::string_view body_;
  const Params& params_;
};

}  // namespace

Connection::Connection(std::shared_ptr<EventLoop> loop, std::shared_ptr<Listener> listener,
                       asio::ip::tcp::socket socket, bool over_limit)
    : loop_(std::move(loop)),
      listener_(std::move(listener)),
      socket_(std::move(socket)),
      over_limit_(over_limit) {}

void Connection::start() {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  deadline_ = loop_->now() + listener_->settings.header_timeout;
  if (!over_limit_) return await_readable();
  listener_->count(Refused::Connections);
  close_after_ = true;
  began_ = loop_->now();
  std::string& out = empty_output();
  answer(problem_retry_after(503, "TOO_MANY_CONNECTIONS",
                             "The server has as many connections as it may have.", 1),
         out);
  proceed({}, out);
}

// --- reading ---

// Waits without a buffer; the bytes are read into the loop's shared one when they are there.
void Connection::await_readable() {
  if (std::exchange(reading_, true)) return;
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const error_code& error) { self->on_readable(error); });
}

void Connection::on_readable(const error_code& error) {
  reading_ = false;
  if (phase_ == Phase::Closed) return;
  if (error) return close();
  error_code failed;
  const std::size_t size = socket_.read_some(asio::buffer(loop_->input), failed);
  if (failed == asio::error::would_block) return await_readable();
  if (failed) return close();
  take(std::string_view(loop_->input.data(), size));
}

void Connection::take(std::string_view bytes) {
  if (phase_ == Phase::Lingering || phase_ == Phase::Streaming) return discard(bytes);
  if (pending_.empty()) return proceed(bytes, empty_output());
  pending_ += bytes;
  if (phase_ == Phase::Body) {
    if (pending_.size() < needed_) return await_readable();
    phase_ = Phase::Head;  // the head is parsed again, its body now behind it
  }
  proceed(pending_, empty_output());
}

void Connection::discard(std::string_view bytes) {
  discarded_ += bytes.size();
  if (discarded_ > kMaxDiscarded) return close();
  await_readable();
}

// Serves what is there, writes the answers, and waits for what comes next.
void Connection::proceed(std::string_view bytes, std::string& out) {
  for (;;) {
    const bool more = serve(bytes, out);
    if (!write(out)) return;
    if (!more) return await_next();
    out.clear();
    bytes = pending_;
  }
}

// True when it stopped only because enough answers are waiting to be written.
bool Connection::serve(std::string_view bytes, std::string& out) {
  std::size_t used = 0;
  bool enough = false;
  while (phase_ == Phase::Head && !close_after_ && used < bytes.size() && !enough) {
    const std::size_t size = serve_one(bytes.substr(used), out);
    if (size == 0) break;
    used += size;
    enough = out.size() > kEnoughOutput;
  }
  keep(bytes, used);
  return enough && phase_ == Phase::Head && !close_after_ && !pending_.empty();
}

void Connection::keep(std::string_view bytes, std::size_t used) {
  if (pending_.empty()) {
    pending_.assign(bytes.substr(used));
  } else {
    pending_.erase(0, used);  // `bytes` is a view of it
  }
  if (pending_.empty() && pending_.capacity() > 64) std::string().swap(pending_);
}

// Returns the size of the request it dealt with; 0 when that is not all here, or was the last.
std::size_t Connection::serve_one(std::string_view bytes, std::string& out) {
  began_ = loop_->now();
  verb_ = Verb::Other;
  route_ = nullptr;
  RequestHead& head = loop_->head;
  Refusal refusal{};
  const auto& settings = listener_->settings;
  switch (parse_head(bytes, {settings.max_header_bytes, settings.max_target_bytes}, head, refusal)) {
    case HeadState::Incomplete: return 0;
    case HeadState::Refused: refuse(refusal, Refused::Malformed, out); return 0;
    case HeadState::Complete: break;
  }
  verb_ = head.verb;
  close_after_ = !head.keep_alive;
  auto early = look_up(head);
  const std::size_t total = head.size + head.body_size();
  const bool whole = bytes.size() >= total;
  if (early) return answer_early(std::move(*early), total, whole, out);
  if (head.body_size() > std::min(route_->spec.max_body_bytes, settings.max_body_bytes)) {
    refuse(kTooLarge, Refused::Malformed, out);
    return 0;
  }
  if (!whole) return await_body(head, bytes.size() == head.size, out);
  if (admit(out)) handle(head, bytes.substr(head.size, head.body_size()), out);
  return total;
}

// --- deciding ---

// An answer that needs no handler, or nothing and `route_`.
std::optional<HttpResponse> Connection::look_up(const RequestHead& head) {
  const bool open = listener_->open.load(std::memory_order_acquire);
  switch (listener_->routes().find(head.verb, head.path, route_, loop_->params, loop_->allow)) {
    case Lookup::Found:
      if (open || route_->always_open) return std::nullopt;
      break;
    case Lookup::BadPath:
      return problem(400, "BAD_TARGET", "The path has a malformed percent-escape or a control character.");
    case Lookup::NoSuchPath:
      if (open) return problem(404, "NOT_FOUND", "There is nothing at this path.");
      break;
    case Lookup::OtherMethods: {
      if (!open) break;
      auto response = problem(405, "METHOD_NOT_ALLOWED", "This path does not answer to this method.");
      response.headers.emplace_back("Allow", loop_->allow);
      return response;
    }
  }
  return problem_retry_after(503, "NOT_READY", "The server is starting.", 1);
}

// A body that has not come is not waited for; what is left of it would read as the next request.
std::size_t Connection::answer_early(HttpResponse response, std::size_t total, bool whole, std::string& out) {
  if (!whole) close_after_ = true;
  answer(response, out);
  return whole ? total : 0;
}

std::size_t Connection::await_body(const RequestHead& head, bool none_yet, std::string& out) {
  phase_ = Phase::Body;
  needed_ = head.size + head.body_size();
  deadline_ = loop_->now() + listener_->settings.body_timeout;
  if (head.expects_continue && none_yet) out += kContinue;
  return 0;
}

bool Connection::admit(std::string& out) {
  if (listener_->in_flight.fetch_add(1) < listener_->settings.max_in_flight) return true;
  listener_->in_flight.fetch_sub(1);
  listener_->count(Refused::InFlight);
  answer(problem_retry_after(503, "OVERLOADED", "The server has as many requests in progress as it may have.",
                             1),
         out);
  return false;
}

void Connection::handle(const RequestHead& head, std::string_view body, std::string& out) {
  phase_ = Phase::Handling;
  loop_->inline_answer.reset();
  call_handler(head, body);
  if (!loop_->inline_answer) return;
  const auto kind = loop_->inline_answer->kind;
  complete(kind, std::move(loop_->inline_answer->response), out);
}

void Connection::call_handler(const RequestHead& head, std::string_view body) {
  const RequestView request(route_->spec.method, head, body, loop_->params);
  t_handling = this;
  try {
    route_->spec.handler(request, HttpReply(std::make_shared<ReplySink>(shared_from_this())));
  } catch (const std::exception& error) {
    listener_->log_defect("http_handler_failed", route_->spec.path, error.what());
  } catch (...) {
    listener_->log_defect("http_handler_failed", route_->spec.path, "an exception of an unknown type");
  }
  t_handling = nullptr;
}

// --- answering ---

void Connection::deliver(Message::Kind kind, HttpResponse response) {
  const bool answers = kind != Message::Kind::StreamText && kind != Message::Kind::EndStream;
  if (t_handling == this && answers) {
    loop_->inline_answer = Message{kind, nullptr, std::move(response)};
    return;
  }
  if (!loop_->post({kind, shared_from_this(), std::move(response)})) streaming_ = false;
}

void Connection::receive(Message& message) {
  switch (message.kind) {
    case Message::Kind::StreamText:
      posted_event_bytes_ -= message.response.body.size();
      return append_stream(message.response.body);
    case Message::Kind::EndStream: return end_stream();
    default: break;
  }
  std::string& out = empty_output();
  complete(message.kind, std::move(message.response), out);
  if (phase_ != Phase::Closed) proceed(pending_, out);
}

void Connection::complete(Message::Kind kind, HttpResponse response, std::string& out) {
  listener_->in_flight.fetch_sub(1);
  if (phase_ == Phase::Closed) return release_stream();
  if (kind == Message::Kind::OpenStream) return begin_stream(out);
  if (kind == Message::Kind::Dropped) {
    listener_->log_defect("http_reply_dropped", route_->spec.path,
                          "the handler gave its reply up unanswered");
    response = problem(500, "INTERNAL", "The request was not answered. Its outcome is unknown.");
  }
  answer(response, out);
}

void Connection::refuse(const Refusal& refusal, Refused reason, std::string& out) {
  listener_->count(reason);
  close_after_ = true;
  answer(problem(refusal.status, refusal.code, refusal.detail), out);
}

void Connection::answer(const HttpResponse& response, std::string& out) {
  if (listener_->draining) close_after_ = true;
  const Framing framing{loop_->date_header(), close_after_, verb_ == Verb::Head};
  int status = response.status;
  if (!append_response(response, framing, out)) {
    listener_->log_defect("http_response_malformed", route_ ? route_->spec.path : "",
                          "status or a header value cannot be sent");
    status = 500;
    append_response(problem(500, "INTERNAL", "The answer could not be sent. Its outcome is unknown."),
                    framing, out);
  }
  observe(status);
  phase_ = Phase::Head;
  head_begun_ = false;
}

void Connection::observe(int status) {
  const double seconds = std::chrono::duration<double>(loop_->now() - began_).count();
  Durations& durations = route_ ? route_->durations : listener_->unrouted(verb_);
  durations.observe(status, seconds);
}

// --- event streams ---

bool Connection::reserve_stream() {
  if (listener_->streams.fetch_add(1) >= listener_->settings.max_streams) {
    listener_->streams.fetch_sub(1);
    listener_->count(Refused::Streams);
    return false;
  }
  streaming_ = true;
  return true;
}

bool Connection::reserve_stream_bytes(std::size_t bytes) {
  if (posted_event_bytes_.fetch_add(bytes) + bytes <= listener_->settings.stream_queue_bytes) return true;
  posted_event_bytes_ -= bytes;
  return false;
}

void Connection::begin_stream(std::string& out) {
  append_stream_head(loop_->date_header(), out);
  observe(200);
  phase_ = Phase::Streaming;
  close_after_ = true;
  if (verb_ == Verb::Head) end_stream();
}

void Connection::append_stream(std::string& text) {
  if (phase_ != Phase::Streaming) return;
  if (unsent_.size() + text.size() > listener_->settings.stream_queue_bytes) {
    listener_->count(Refused::SlowStream);
    return close();
  }
  if (write(text)) await_next();
}

void Connection::end_stream() {
  if (phase_ != Phase::Streaming) return;
  release_stream();
  phase_ = Phase::Head;  // and close_after_ is set
  if (unsent_.empty() && reading_) linger();
}

void Connection::release_stream() {
  if (streaming_.exchange(false)) listener_->streams.fetch_sub(1);
}

// --- writing and ending ---

// True when all of `out` is with the socket. Else it is kept and written on, or the client is gone.
bool Connection::write(std::string& out) {
  if (phase_ == Phase::Closed) return false;
  if (!unsent_.empty()) {
    unsent_ += out;
    return false;
  }
  if (out.empty()) return true;
  error_code failed;
  const std::size_t size = socket_.write_some(asio::buffer(out), failed);
  if (failed && failed != asio::error::would_block) {
    close();
    return false;
  }
  if (size == out.size()) return true;
  unsent_.assign(out, size);
  deadline_ = loop_->now() + listener_->settings.write_timeout;
  await_writable();
  return false;
}

void Connection::await_writable() {
  socket_.async_wait(asio::ip::tcp::socket::wait_write,
                     [self = shared_from_this()](const error_code& error) { self->on_writable(error); });
}

void Connection::on_writable(const error_code& error) {
  if (phase_ == Phase::Closed) return;
  if (error) return close();
  error_code failed;
  const std::size_t size = socket_.write_some(asio::buffer(unsent_), failed);
  if (failed && failed != asio::error::would_block) return close();
  unsent_.erase(0, size);
  if (!unsent_.empty()) return await_writable();
  std::string().swap(unsent_);
  if (phase_ == Phase::Body) deadline_ = loop_->now() + listener_->settings.body_timeout;
  proceed(pending_, empty_output());
}

// Everything is written: what is waited for now, and how long.
void Connection::await_next() {
  const auto& settings = listener_->settings;
  switch (phase_) {
    case Phase::Closed:
    case Phase::Lingering: return;
    case Phase::Handling: deadline_ = Deadline::max(); return;
    case Phase::Streaming: deadline_ = loop_->now() + settings.stream_heartbeat; return await_readable();
    case Phase::Body: return await_readable();
    case Phase::Head: break;
  }
  if (close_after_) return linger();
  if (pending_.empty() && !head_begun_) deadline_ = loop_->now() + settings.idle_timeout;
  if (!pending_.empty() && !head_begun_) {
    head_begun_ = true;
    deadline_ = loop_->now() + settings.header_timeout;
  }
  await_readable();
}

// Closing with unread bytes makes the kernel reset the connection, and the client may lose the answer:
// so tell it that nothing more comes, and let it close.
void Connection::linger() {
  error_code failed;
  phase_ = Phase::Lingering;
  discarded_ = pending_.size();
  std::string().swap(pending_);
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, failed);
  if (failed) return close();
  deadline_ = loop_->now() + kLinger;
  await_readable();
}

void Connection::close() {
  if (phase_ == Phase::Closed) return;
  const auto self = shared_from_this();
  phase_ = Phase::Closed;
  error_code ignored;
  socket_.close(ignored);
  std::string().swap(pending_);
  std::string().swap(unsent_);
  release_stream();
  loop_->forget(*this);
  listener_->connection_closed();
}

void Connection::tick(Deadline now) {
  if (listener_->draining) drain(now);
  if (now >= deadline_) expire();
}

void Connection::expire() {
  if (phase_ == Phase::Closed) return;
  if (!unsent_.empty()) {
    listener_->count(Refused::TimedOut);
    return close();
  }
  if (phase_ == Phase::Streaming) {
    std::string heartbeat(kHeartbeat);
    return append_stream(heartbeat);
  }
  if (pending_.empty() || phase_ == Phase::Lingering) return close();
  std::string& out = empty_output();
  refuse(kTooSlow, Refused::TimedOut, out);
  proceed({}, out);
}

void Connection::drain(Deadline now) {
  const auto since = now - listener_->drain_since.load();
  if (phase_ == Phase::Streaming) end_stream();
  if (phase_ != Phase::Head || !unsent_.empty()) return;
  if (since > (pending_.empty() ? kDrainIdle : kDrainHead)) close();
}

std::string& Connection::empty_output() {
  loop_->output.clear();
  return loop_->output;
}

}  // namespace penstock::host::http
