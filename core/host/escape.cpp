#include "host/escape.hpp"

#include <cstdint>

namespace penstock::host {
namespace {

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

struct Lead {
  std::size_t length;
  std::uint32_t bits;      // of the lead byte itself
  std::uint32_t smallest;  // code point that needs this length
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if ((byte & 0xE0) == 0xC0) return {2, byte & 0x1Fu, 0x80};
  if ((byte & 0xF0) == 0xE0) return {3, byte & 0x0Fu, 0x800};
  if ((byte & 0xF8) == 0xF0) return {4, byte & 0x07u, 0x10000};
  return {0, 0, 0};
}

bool is_scalar(std::uint32_t code) {
  return code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

// Length of the UTF-8 character at the front of `text`, 0 when there is none; `code` receives it.
std::size_t character(std::string_view text, std::uint32_t& code) {
  const auto lead = lead_of(static_cast<unsigned char>(text.front()));
  if (lead.length == 0 || lead.length > text.size()) return 0;
  code = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (!is_continuation(byte)) return 0;
    code = (code << 6) | (byte & 0x3Fu);
  }
  return code >= lead.smallest && is_scalar(code) ? lead.length : 0;
}

bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

void append_hex(std::string& out, std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

enum class Quotes { Keep, Escape };

std::string without_controls(std::string_view text, Quotes quotes) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code = 0;
    const auto length = character(text, code);
    const auto bytes = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_control(code)) {
      append_hex(out, bytes);
    } else {
      if (quotes == Quotes::Escape && (code == '"' || code == '\\')) out += '\\';
      out += bytes;
    }
    text.remove_prefix(bytes.size());
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return without_controls(text, Quotes::Keep);
}
std::string escaped(std::string_view text) {
  return without_controls(text, Quotes::Escape);
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code = 0;
    const auto length = character(text, code);
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  while (limit > 0 && is_continuation(static_cast<unsigned char>(text[limit]))) --limit;
  return std::string(text.substr(0, limit)) + "...";
}

}  // namespace penstock::host
