// A client for the tests that sends exactly the bytes it is told, well-formed or not.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace penstock::host::http {

struct RawAnswer {
  int status = 0;  // 0: the connection ended before an answer
  std::string head;
  std::string body;
  bool has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ::close(socket_);
      throw std::runtime_error("connect to 127.0.0.1:" + std::to_string(port) + " failed");
    }
  }
  ~RawClient() { hang_up(); }
  RawClient(RawClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}
  RawClient& operator=(RawClient&&) = delete;

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  RawAnswer read_answer() {
    RawAnswer answer;
    std::size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more()) return answer;
    }
    answer.head = buffer_.substr(0, end + 4);
    answer.status = std::atoi(answer.head.c_str() + 9);
    buffer_.erase(0, end + 4);
    const auto length = answer.head.find("Content-Length: ");
    const auto size =
        length == std::string::npos ? 0 : std::strtoul(answer.head.c_str() + length + 16, nullptr, 10);
    while (buffer_.size() < size && read_more()) {
    }
    answer.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return answer;
  }

  RawAnswer ask(std::string_view bytes) {
    send(bytes);
    return read_answer();
  }

  // Everything until `text` was seen or the connection ended.
  std::string read_until(std::string_view text) {
    while (buffer_.find(text) == std::string::npos && read_more()) {
    }
    return buffer_;
  }

  // True when the server closes in an orderly way with nothing more to read.
  bool sees_end() { return buffer_.empty() && !read_more() && buffer_.empty(); }

  void hang_up() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  bool read_more() {
    char bytes[16 * 1024];
    const auto size = ::recv(socket_, bytes, sizeof bytes, 0);
    if (size <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(size));
    return true;
  }

  int socket_;
  std::string buffer_;
};

}  // namespace penstock::host::http
