#include "load/http_loop.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <strings.h>
#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace penstock::load {
namespace {

constexpr Milliseconds kOverdueCheck{100};
constexpr std::size_t kMaxResponse = 16 * 1024 * 1024;

sockaddr_in address_of(const Target& target) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(target.port);
  if (inet_pton(AF_INET, target.host.c_str(), &address.sin_addr) != 1) {
    throw std::invalid_argument("\"" + target.host + "\" is no IPv4 address");
  }
  return address;
}

std::optional<std::string_view> header(std::string_view head, std::string_view name) {
  for (auto line = head.find("\r\n"); line != std::string_view::npos; line = head.find("\r\n", line + 2)) {
    const auto rest = head.substr(line + 2);
    if (rest.size() <= name.size() || rest[name.size()] != ':') continue;
    if (strncasecmp(rest.data(), name.data(), name.size()) != 0) continue;
    auto value = rest.substr(name.size() + 1, rest.find("\r\n") - name.size() - 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    return value;
  }
  return std::nullopt;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string_view to_string(Failure failure) {
  switch (failure) {
    case Failure::None: return "";
    case Failure::Refused: return "refused";
    case Failure::Lost: return "lost";
    case Failure::TimedOut: return "timed_out";
    case Failure::Malformed: return "malformed";
  }
  return "";
}

Target Target::parse(std::string_view text) {
  const std::string whole(text);
  if (text.starts_with("http://")) text.remove_prefix(7);
  if (text.ends_with('/')) text.remove_suffix(1);
  Target target;
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || !read_number(text.substr(colon + 1), target.port) ||
      target.port == 0) {
    throw std::invalid_argument("\"" + whole + "\" is no address; needed e.g. 127.0.0.1:8080");
  }
  target.host = text.substr(0, colon) == "localhost" ? "127.0.0.1" : std::string(text.substr(0, colon));
  address_of(target);
  return target;
}

Loop::Loop(Target target) : target_(std::move(target)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

Loop::~Loop() {
  ::close(epoll_);
}

void Loop::run() {
  std::array<epoll_event, 512> events;
  after(kOverdueCheck, [this] { cut_overdue(); });
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_, events.data(), events.size(), wait_limit());
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "epoll_wait");
    for (int i = 0; i < count; ++i) {
      static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr)
          ->on_event(events[static_cast<std::size_t>(i)].events);
    }
    run_due();
  }
}

void Loop::after(Milliseconds delay, std::function<void()> task) {
  timers_.push({std::chrono::steady_clock::now() + delay, timers_made_++, std::move(task)});
}

void Loop::run_due() {
  const auto now = std::chrono::steady_clock::now();
  while (!stopping_ && !timers_.empty() && timers_.top().at <= now) {
    const auto task = timers_.top().task;
    timers_.pop();
    task();
  }
}

int Loop::wait_limit() const {
  const auto rest = std::chrono::ceil<Milliseconds>(timers_.top().at - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<Milliseconds::rep>(rest.count(), 0, kOverdueCheck.count()));
}

void Loop::cut_overdue() {
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < clients_.size(); ++i) {  // a callback may make another client
    Client& client = *clients_[i];
    if (client.busy() && now - client.sent_at_ > client.limit_) client.fail(Failure::TimedOut);
  }
  after(kOverdueCheck, [this] { cut_overdue(); });
}

Client::Client(Loop& loop, Milliseconds limit) : loop_(loop), limit_(limit), index_(loop.clients_.size()) {
  loop.clients_.push_back(this);
}

Client::~Client() {
  hang_up();
  loop_.clients_[index_] = loop_.clients_.back();
  loop_.clients_[index_]->index_ = index_;
  loop_.clients_.pop_back();
}

void Client::send(std::string_view request, Done done) {
  assert(!busy() && done);
  done_ = std::move(done);
  sent_at_ = std::chrono::steady_clock::now();
  output_.assign(request);
  output_done_ = 0;
  input_.clear();
  if (socket_ < 0 && !open_socket()) {
    // Later, so that a caller that sends again from `done` does not recurse.
    return loop_.after(Milliseconds(0), [this] {
      if (busy() && socket_ < 0) fail(Failure::Refused);
    });
  }
  if (!connecting_) flush();
}

bool Client::open_socket() {
  const auto address = address_of(loop_.target());
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return false;
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  connecting_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
  if (connecting_ && errno != EINPROGRESS) {
    hang_up();
    return false;
  }
  watching_writable_ = connecting_;
  epoll_event event{};
  event.events = EPOLLIN | (connecting_ ? EPOLLOUT : 0u);
  event.data.ptr = this;
  if (::epoll_ctl(loop_.epoll_, EPOLL_CTL_ADD, socket_, &event) == 0) return true;
  hang_up();
  return false;
}

void Client::on_event(std::uint32_t events) {
  if (socket_ < 0) return;
  if (connecting_) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(Failure::Refused);
    if (!(events & EPOLLOUT)) return;
    connecting_ = false;
    return flush();
  }
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read();
  if (socket_ >= 0 && watching_writable_ && (events & EPOLLOUT)) flush();
}

void Client::flush() {
  while (output_done_ < output_.size()) {
    const auto sent =
        ::send(socket_, output_.data() + output_done_, output_.size() - output_done_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return watch(true);
    if (sent < 0) {
      hang_up();
      // Later, see send(). A connection that the server closed while it was idle ends here.
      return loop_.after(Milliseconds(0), [this] {
        if (busy() && socket_ < 0) fail(Failure::Lost);
      });
    }
    output_done_ += static_cast<std::size_t>(sent);
  }
  watch(false);
}

void Client::watch(bool writable) {
  if (writable == watching_writable_) return;
  watching_writable_ = writable;
  epoll_event event{};
  event.events = EPOLLIN | (writable ? EPOLLOUT : 0u);
  event.data.ptr = this;
  ::epoll_ctl(loop_.epoll_, EPOLL_CTL_MOD, socket_, &event);
}

void Client::read() {
  const auto size = ::recv(socket_, loop_.input_.data(), loop_.input_.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return busy() ? fail(Failure::Lost) : hang_up();
  const std::string_view bytes(loop_.input_.data(), static_cast<std::size_t>(size));
  if (!busy()) return hang_up();  // an answer to nothing: a refusal or a time-out of the server's
  if (input_.empty()) {
    if (!read_response(bytes)) input_.assign(bytes);
    return;
  }
  input_ += bytes;
  if (input_.size() > kMaxResponse) return fail(Failure::Malformed);
  std::string whole = std::exchange(input_, {});
  if (!read_response(whole)) input_ = std::move(whole);
}

bool Client::read_response(std::string_view bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return false;
  Answer answer;
  answer.head = bytes.substr(0, end + 2);
  std::size_t length = 0;
  const auto length_text = header(answer.head, "Content-Length");
  const bool readable = answer.head.size() > 12 && answer.head.starts_with("HTTP/1.1 ") &&
                        read_number(answer.head.substr(9, 3), answer.status) &&
                        (length_text ? read_number(*length_text, length) : answer.status == 204);
  const std::size_t whole = end + 4 + length;
  if (readable && bytes.size() < whole) return false;
  if (!readable || bytes.size() > whole) {
    fail(Failure::Malformed);
    return true;
  }
  answer.body = bytes.substr(end + 4, length);
  const auto connection = header(answer.head, "Connection");
  if (connection && connection->starts_with("close")) hang_up();
  finish(answer);
  return true;
}

void Client::finish(const Answer& answer) {
  Answer timed = answer;
  timed.latency = std::chrono::steady_clock::now() - sent_at_;
  const Done done = std::exchange(done_, nullptr);
  done(timed);
}

void Client::fail(Failure failure) {
  hang_up();
  if (!busy()) return;
  Answer answer;
  answer.failure = failure;
  finish(answer);
}

void Client::hang_up() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  connecting_ = false;
  watching_writable_ = false;
}

}  // namespace penstock::load
