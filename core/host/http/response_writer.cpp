#include "host/http/response_writer.hpp"

#include "host/http/request_head.hpp"

#include <utility>  // before Beast: Asio 1.74 needs std::exchange under C++20

#include <boost/beast/http/status.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace penstock::host::http {
namespace {

constexpr std::array<std::string_view, 5> kOwnHeaders{"connection", "content-length", "content-type", "date",
                                                      "transfer-encoding"};

bool is_sendable(std::string_view name, std::string_view value) {
  const auto in_name = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
  };
  const auto in_value = [](char c) { return c >= 0x20 && c <= 0x7e; };
  const auto own = [&](std::string_view mine) { return equals_ignoring_case(mine, name); };
  return !name.empty() && std::all_of(name.begin(), name.end(), in_name) &&
         std::all_of(value.begin(), value.end(), in_value) &&
         std::none_of(kOwnHeaders.begin(), kOwnHeaders.end(), own);
}

void append_number(std::size_t number, std::string& out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

void append_status_line(int status, std::string& out) {
  const auto reason = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  out += "HTTP/1.1 ";
  append_number(static_cast<std::size_t>(status), out);
  out += ' ';
  out.append(reason.data(), reason.size());
  out += "\r\n";
}

void append_without_controls(std::string_view text, std::string& out) {
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return c < 0 || c >= 0x20; });
}

}  // namespace

bool append_response(const HttpResponse& response, const Framing& framing, std::string& out) {
  if (response.status < 200 || response.status > 599) return false;
  if (!is_sendable("-", response.content_type)) return false;
  for (const auto& [name, value] : response.headers) {
    if (!is_sendable(name, value)) return false;
  }
  const bool has_body = response.status != 204 && response.status != 304;
  append_status_line(response.status, out);
  out += framing.date_header;
  if (has_body) {
    out += "Content-Type: ";
    out += response.content_type;
    out += "\r\nContent-Length: ";
    append_number(response.body.size(), out);
    out += "\r\n";
  }
  for (const auto& [name, value] : response.headers) {
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  out += framing.close ? "Connection: close\r\n\r\n" : "\r\n";
  if (has_body && !framing.head_only) out += response.body;
  return true;
}

void append_stream_head(std::string_view date_header, std::string& out) {
  append_status_line(200, out);
  out += date_header;
  // The end of the connection is the end of the stream.
  out += "Content-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";
}

std::string format_event(std::string_view id, std::string_view event, std::string_view data) {
  std::string text;
  text.reserve(id.size() + event.size() + data.size() + 32);
  if (!id.empty()) {
    text += "id: ";
    append_without_controls(id, text);
    text += '\n';
  }
  if (!event.empty()) {
    text += "event: ";
    append_without_controls(event, text);
    text += '\n';
  }
  for (;;) {
    const auto end = std::min(data.find_first_of("\r\n"), data.size());
    text += "data: ";
    text += data.substr(0, end);
    text += '\n';
    if (end == data.size()) break;
    data.remove_prefix(data.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  text += '\n';
  return text;
}

}  // namespace penstock::host::http
