#include "host/http/http_server.hpp"

#include "host/http/connection.hpp"
#include "host/http/event_loop.hpp"
#include "host/http/listener.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/resource.h>

#include <array>
#include <future>
#include <mutex>

namespace penstock::host {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace http {
namespace {

constexpr std::size_t kRefusedHeld = 64;  // connections over the limit that are still told so
constexpr Milliseconds kAcceptBackOff{100};

// Accepts for one listener and spreads the connections over the loops in turn. Lives on the first loop.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(std::vector<std::shared_ptr<EventLoop>> loops, std::shared_ptr<Listener> listener)
      : loops_(std::move(loops)),
        listener_(std::move(listener)),
        acceptor_(loops_.front()->context()),
        back_off_(loops_.front()->context()) {}

  Result<void> bind() {
    const auto& settings = listener_->settings;
    error_code failed;
    const auto endpoint = resolve(failed);
    if (!failed) acceptor_.open(endpoint.protocol(), failed);
    if (!failed) acceptor_.set_option(tcp::acceptor::reuse_address(true), failed);
    if (!failed) acceptor_.bind(endpoint, failed);
    if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
    if (!failed) port_ = acceptor_.local_endpoint(failed).port();
    if (!failed) return {};
    return Error{ErrorCode::Unavailable, "cannot listen on " + settings.host + ":" +
                                             std::to_string(settings.port) + " (" + failed.message() +
                                             "): stop what uses it, or set " + settings.key + ".host and " +
                                             settings.key + ".port"};
  }

  std::uint16_t port() const { return port_; }

  void accept() {
    const auto loop = loops_[next_++ % loops_.size()];
    acceptor_.async_accept(loop->context(),
                           [self = shared_from_this(), loop](const error_code& error, tcp::socket socket) {
                             self->accepted(error, loop, std::move(socket));
                           });
  }

  // Returns when no further connection can be accepted. Not from the loop's own thread.
  void close() {
    std::promise<void> closed;
    asio::post(loops_.front()->context(), [&] {
      error_code ignored;
      acceptor_.close(ignored);
      back_off_.cancel();
      closed.set_value();
    });
    closed.get_future().wait();
  }

 private:
  tcp::endpoint resolve(error_code& failed) {
    const auto& settings = listener_->settings;
    const auto address = asio::ip::make_address(settings.host, failed);
    if (!failed) return {address, settings.port};
    tcp::resolver resolver(loops_.front()->context());
    const auto found =
        resolver.resolve(settings.host, std::to_string(settings.port), tcp::resolver::passive, failed);
    return failed ? tcp::endpoint() : found.begin()->endpoint();
  }

  void accepted(const error_code& error, const std::shared_ptr<EventLoop>& loop, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (error) return accept_later(error);
    const std::size_t open = listener_->connection_opened();
    if (open > listener_->settings.max_connections + kRefusedHeld) {
      listener_->count(Refused::Connections);
      listener_->connection_closed();
    } else {
      const bool over_limit = open > listener_->settings.max_connections;
      auto connection = std::make_shared<Connection>(loop, listener_, std::move(socket), over_limit);
      asio::post(loop->context(), [loop, connection] { loop->adopt(connection); });
    }
    accept();
  }

  // Out of descriptors, or the client has gone again: neither may spin or end the listener.
  void accept_later(const error_code& error) {
    listener_->log_defect("http_accept_failed", "", error.message());
    back_off_.expires_after(kAcceptBackOff);
    back_off_.async_wait([self = shared_from_this()](const error_code& cancelled) {
      if (!cancelled) self->accept();
    });
  }

  const std::vector<std::shared_ptr<EventLoop>> loops_;
  const std::shared_ptr<Listener> listener_;
  tcp::acceptor acceptor_;
  asio::steady_timer back_off_;
  std::size_t next_ = 0;
  std::uint16_t port_ = 0;
};

// A connection is a descriptor, and the usual soft limit is 1,024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::size_t descriptor_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur) : 0;
}

}  // namespace
}  // namespace http

class HttpServer::Impl {
 public:
  Impl(HttpServerSettings settings, Logger& logger, Metrics& metrics)
      : logger_(logger),
        io_threads_(std::max(1, settings.io_threads)),
        listeners_{std::make_shared<http::Listener>(std::move(settings.public_listener),
                                                    std::vector<std::string>(), logger, metrics),
                   std::make_shared<http::Listener>(std::move(settings.operator_listener),
                                                    std::move(settings.always_open), logger, metrics)} {}

  http::Listener& listener(HttpListener which) { return *listeners_[static_cast<std::size_t>(which)]; }

  Result<void> start() {
    make_acceptors();
    for (const auto& acceptor : acceptors_) {
      if (auto bound = acceptor->bind(); !bound) {
        acceptors_.clear();
        loops_.clear();
        return bound;
      }
    }
    check_descriptors();
    for (std::size_t i = 0; i < acceptors_.size(); ++i) {
      ports_[i] = acceptors_[i]->port();
      logger_.info("http_listening", {{"listener", listeners_[i]->settings.key},
                                      {"host", listeners_[i]->settings.host},
                                      {"port", ports_[i]}});
      acceptors_[i]->accept();
    }
    for (std::size_t i = 0; i < loops_.size(); ++i) loops_[i]->start(static_cast<int>(i));
    return {};
  }

  void open() {
    for (const auto& listener : listeners_) listener->open = true;
  }

  std::uint16_t port(HttpListener which) const { return ports_[static_cast<std::size_t>(which)]; }

  std::size_t drain(Deadline deadline) {
    const std::lock_guard lock(draining_);
    for (std::size_t i = 0; i < acceptors_.size(); ++i) {
      acceptors_[i]->close();
      http::Listener& listener = *listeners_[i];
      listener.drain_since = std::chrono::steady_clock::now();
      listener.draining = true;
      listener.wait_until_empty(deadline);
    }
    acceptors_.clear();
    std::size_t cut = 0;
    for (const auto& loop : loops_) cut += loop->stop();
    loops_.clear();
    return cut;
  }

 private:
  void make_acceptors() {
    for (int i = 0; i < io_threads_; ++i) {
      loops_.push_back(std::make_shared<http::EventLoop>(
          std::vector<std::shared_ptr<http::Listener>>(listeners_.begin(), listeners_.end())));
    }
    for (const auto& listener : listeners_) {
      acceptors_.push_back(std::make_shared<http::Acceptor>(loops_, listener));
    }
  }

  void check_descriptors() {
    http::raise_descriptor_limit();
    const std::size_t wanted =
        listeners_[0]->settings.max_connections + listeners_[1]->settings.max_connections + 256;
    if (http::descriptor_limit() >= wanted) return;
    logger_.warn("http_descriptor_limit",
                 {{"limit", http::descriptor_limit()},
                  {"needed", wanted},
                  {"next_step", "raise the limit of open files or lower max_connections"}});
  }

  Logger& logger_;
  const int io_threads_;
  const std::array<std::shared_ptr<http::Listener>, 2> listeners_;
  std::array<std::uint16_t, 2> ports_{};
  std::vector<std::shared_ptr<http::EventLoop>> loops_;
  std::vector<std::shared_ptr<http::Acceptor>> acceptors_;
  std::mutex draining_;
};

HttpServer::HttpServer(HttpServerSettings settings, Logger& logger, Metrics& metrics)
    : impl_(std::make_unique<Impl>(std::move(settings), logger, metrics)) {}

HttpServer::~HttpServer() {
  drain(std::chrono::steady_clock::now());
}

void HttpServer::add(HttpRoute route) {
  impl_->listener(route.listener).add(std::move(route));
}

Result<void> HttpServer::start() {
  return impl_->start();
}

void HttpServer::open() {
  impl_->open();
}

std::uint16_t HttpServer::port(HttpListener listener) const {
  return impl_->port(listener);
}

std::size_t HttpServer::drain(Deadline deadline) {
  return impl_->drain(deadline);
}

}  // namespace penstock::host
