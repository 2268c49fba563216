#include "order_intake/request_headers.hpp"

#include <algorithm>
#include <charconv>

namespace penstock::order_intake {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same(std::string_view text, std::string_view lower_case) {
  return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return lower(a) == b; });
}

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::optional<orders::UserId> user_of(const HttpRequest& request) {
  const auto user = request.header("X-User-Id");
  if (!user || !orders::is_valid_id(*user)) return std::nullopt;
  return orders::UserId(*user);
}

bool is_json(const HttpRequest& request) {
  const auto header = request.header("Content-Type");
  if (!header) return false;
  const auto semicolon = header->find(';');
  if (!same(trimmed(header->substr(0, semicolon)), "application/json")) return false;
  if (semicolon == std::string_view::npos) return true;
  const auto parameter = trimmed(header->substr(semicolon + 1));
  return same(parameter, "charset=utf-8") || same(parameter, "charset=\"utf-8\"");
}

std::optional<std::int64_t> last_sequence_of(const HttpRequest& request) {
  const auto header = request.header("Last-Event-ID");
  if (!header) return 0;
  std::int64_t sequence = 0;
  const auto* const end = header->data() + header->size();
  const auto [stop, error] = std::from_chars(header->data(), end, sequence);
  if (error != std::errc() || stop != end || sequence < 0) return std::nullopt;
  return sequence;
}

std::string trace_of(const HttpRequest& request) {
  const auto header = request.header("traceparent");
  if (!header || header->size() != 55) return {};
  const auto& text = *header;
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  const bool valid = is_hexadecimal(text.substr(0, 2)) && is_hexadecimal(text.substr(3, 32)) &&
                     is_hexadecimal(text.substr(36, 16)) && is_hexadecimal(text.substr(53, 2));
  return valid ? std::string(text) : std::string();
}

}  // namespace penstock::order_intake
