// What a transport accepts, whichever engine stores it: the same message is refused by all of them or
// by none.
#pragma once

#include "penstock/transport.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

inline constexpr std::size_t kMaxMessageIdBytes = 128;
inline constexpr std::size_t kMaxRoutingKeyBytes = 128;
inline constexpr std::size_t kMaxTraceBytes = 256;
inline constexpr std::size_t kMaxReasonBytes = 1'000;
inline constexpr Milliseconds kMaxDelay = std::chrono::days(366);

// The length of the well-formed UTF-8 character that `text` begins with; 0 when it begins with none.
// Overlong forms, surrogates and code points above U+10FFFF are not well-formed.
inline std::size_t utf8_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  if (byte(0) < 0xC2 || byte(0) > 0xF4) return 0;
  const std::size_t length = byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second_from = byte(0) == 0xE0 ? 0xA0 : byte(0) == 0xF0 ? 0x90 : 0x80;
  const unsigned second_to = byte(0) == 0xED ? 0x9F : byte(0) == 0xF4 ? 0x8F : 0xBF;
  return byte(1) >= second_from && byte(1) <= second_to ? length : 0;
}

// Well-formed UTF-8 without U+0000, which some engines would cut the text at.
inline bool is_storable_text(std::string_view text) {
  while (!text.empty()) {
    const auto length = text.front() == '\0' ? 0 : utf8_character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// A reason as it may be stored: what is not well-formed becomes '?', and it ends after kMaxReasonBytes.
// Reasons quote what others sent, so they can hold anything.
inline std::string storable_reason(std::string_view reason) {
  std::string text;
  while (!reason.empty() && text.size() < kMaxReasonBytes) {
    const auto length = reason.front() == '\0' ? 0 : utf8_character(reason);
    if (length == 0) {
      text += '?';
      reason.remove_prefix(1);
    } else {
      text += reason.substr(0, length);
      reason.remove_prefix(length);
    }
  }
  return text;
}

// Why a message is refused; empty when it is not.
inline std::string problem_of(const Message& message, std::size_t max_body_bytes) {
  const auto too_long = [](const char* part, std::size_t found, std::size_t allowed) {
    return std::string(part) + " of " + std::to_string(found) + " bytes; allowed are " +
           std::to_string(allowed);
  };
  if (message.id.empty()) return "no message id";
  if (message.id.str().size() > kMaxMessageIdBytes) {
    return too_long("message id", message.id.str().size(), kMaxMessageIdBytes);
  }
  if (message.routing_key.size() > kMaxRoutingKeyBytes) {
    return too_long("routing key", message.routing_key.size(), kMaxRoutingKeyBytes);
  }
  if (message.trace.size() > kMaxTraceBytes) return too_long("trace", message.trace.size(), kMaxTraceBytes);
  if (message.body.size() > max_body_bytes) return too_long("body", message.body.size(), max_body_bytes);
  if (message.delay > kMaxDelay) {
    return "delay of " + std::to_string(message.delay.count()) + " ms; allowed are " +
           std::to_string(kMaxDelay.count());
  }
  for (const auto* text : {&message.id.str(), &message.routing_key, &message.trace, &message.body}) {
    if (!is_storable_text(*text)) return "text that is not UTF-8, or holds U+0000";
  }
  return {};
}

}  // namespace penstock
