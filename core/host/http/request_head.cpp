#include "host/http/request_head.hpp"

#include <utility>  // before Asio: its 1.74 coroutine headers need std::exchange under C++20

#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

namespace penstock::host::http {
namespace {

namespace beast_http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

constexpr Refusal kMalformed{400, "MALFORMED_REQUEST", "The request is not well-formed HTTP/1.1."};
constexpr Refusal kBadTarget{400, "BAD_TARGET", "The request target is not a valid path."};
constexpr Refusal kBadHeader{400, "BAD_HEADER",
                             "A header value is folded or has bytes other than printable ASCII."};
constexpr Refusal kRepeated{400, "REPEATED_HEADER", "A header that may occur only once occurs twice."};
constexpr Refusal kNoHost{400, "HOST_REQUIRED", "An HTTP/1.1 request needs exactly one Host header."};
constexpr Refusal kBadLength{400, "BAD_CONTENT_LENGTH", "Content-Length must be one decimal number."};
constexpr Refusal kTwoFramings{400, "AMBIGUOUS_LENGTH",
                               "A request must not have both Content-Length and Transfer-Encoding."};
constexpr Refusal kLengthRequired{411, "LENGTH_REQUIRED", "Send the body with a Content-Length."};
constexpr Refusal kTargetTooLong{414, "TARGET_TOO_LONG",
                                 "The request target is longer than this server accepts."};
constexpr Refusal kExpectation{417, "EXPECTATION_FAILED", "Only the expectation 100-continue is supported."};
constexpr Refusal kHeadTooLarge{431, "HEADERS_TOO_LARGE",
                                "The request line and headers are larger than this server accepts."};
constexpr Refusal kVersion{505, "VERSION_NOT_SUPPORTED", "Only HTTP/1.1 and HTTP/1.0 are supported."};

// Headers that decide who asks, or how the rest is read: two of them would let two readers of the
// same bytes come to different answers.
constexpr std::array<std::string_view, 8> kSingle{"host",          "content-length", "content-type",
                                                  "authorization", "x-user-id",      "expect",
                                                  "last-event-id", "idempotency-key"};

std::string_view to_std(string_view text) {
  return {text.data(), text.size()};
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c <= 0x7e; });
}

Verb verb_of(beast_http::verb verb) {
  switch (verb) {
    case beast_http::verb::get: return Verb::Get;
    case beast_http::verb::head: return Verb::Head;
    case beast_http::verb::post: return Verb::Post;
    case beast_http::verb::put: return Verb::Put;
    case beast_http::verb::delete_: return Verb::Delete;
    default: return Verb::Other;
  }
}

// Collects the head's parts. Stops Beast at the first fault of our own, kept in `fault`.
class HeadParser final : public beast_http::basic_parser<true> {
 public:
  HeadParser(std::string_view bytes, RequestHead& head) : bytes_(bytes), head_(head) {
    header_limit(static_cast<std::uint32_t>(bytes.size() + 4));
    body_limit(std::numeric_limits<std::uint64_t>::max());  // the route's limit is checked later
  }

  const Refusal* fault() const { return fault_; }
  std::string_view target() const { return target_; }

 private:
  void on_request_impl(beast_http::verb verb, string_view, string_view target, int version,
                       error_code&) override {
    head_.verb = verb_of(verb);
    target_ = to_std(target);
    http11_ = version == 11;
  }

  void on_field_impl(beast_http::field, string_view name, string_view value, error_code& error) override {
    if (const Refusal* fault = judge(to_std(name), to_std(value))) return stop(*fault, error);
    head_.headers.emplace_back(to_std(name), to_std(value));
  }

  void on_header_impl(error_code& error) override {
    if (http11_ && !head_.header("host")) return stop(kNoHost, error);
    if (transfer_coded_) return stop(head_.content_length ? kTwoFramings : kLengthRequired, error);
    const bool must_have_body = head_.verb == Verb::Post || head_.verb == Verb::Put;
    if (must_have_body && !head_.content_length) return stop(kLengthRequired, error);
    head_.keep_alive = http11_ && keep_alive();
  }

  const Refusal* judge(std::string_view name, std::string_view value) {
    // Beast unfolds into a buffer of its own, so a folded value lies outside the bytes read.
    const bool inside = value.data() >= bytes_.data() && value.data() <= bytes_.data() + bytes_.size();
    if (!value.empty() && !inside) return &kBadHeader;
    if (!is_printable(value)) return &kBadHeader;
    if (head_.headers.size() == kMaxHeaders) return &kHeadTooLarge;
    if (is_single(name) && head_.header(name)) {
      return equals_ignoring_case(name, "content-length") ? &kBadLength : &kRepeated;
    }
    return judge_framing(name, value);
  }

  const Refusal* judge_framing(std::string_view name, std::string_view value) {
    if (equals_ignoring_case(name, "content-length")) return take_length(value);
    if (equals_ignoring_case(name, "transfer-encoding")) transfer_coded_ = true;
    if (equals_ignoring_case(name, "expect")) {
      if (!equals_ignoring_case(value, "100-continue")) return &kExpectation;
      head_.expects_continue = http11_;
    }
    return nullptr;
  }

  const Refusal* take_length(std::string_view value) {
    const bool digits = !value.empty() && value.size() <= 18 &&
                        std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) return &kBadLength;
    std::uint64_t length = 0;
    for (const char c : value) length = length * 10 + static_cast<std::uint64_t>(c - '0');
    head_.content_length = length;
    return nullptr;
  }

  static bool is_single(std::string_view name) {
    return std::any_of(kSingle.begin(), kSingle.end(),
                       [&](std::string_view single) { return equals_ignoring_case(name, single); });
  }

  void stop(const Refusal& fault, error_code& error) {
    fault_ = &fault;
    error = beast_http::error::bad_value;
  }

  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
    return body.size();
  }
  void on_finish_impl(error_code&) override {}

  std::string_view bytes_;
  RequestHead& head_;
  std::string_view target_;
  const Refusal* fault_ = nullptr;
  bool http11_ = false;
  bool transfer_coded_ = false;
};

// A request line that is right but for the digits of its version.
bool names_a_version(std::string_view head) {
  const auto line = head.substr(0, head.find('\n'));
  const auto version = line.substr(line.size() - std::min<std::size_t>(line.size(), 9));
  return version.starts_with("HTTP/") && version.ends_with('\r') && version[6] == '.';
}

Refusal refusal_of(const error_code& error, std::string_view head) {
  const auto has = [&](std::string_view name) {
    // Beast stops at the second of the two framing headers, before our own check sees it.
    const auto at = std::search(head.begin(), head.end(), name.begin(), name.end(), [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == b;
    });
    return at != head.end();
  };
  if (error == beast_http::error::bad_content_length || error == beast_http::error::bad_transfer_encoding) {
    return has("\r\ntransfer-encoding:") && has("\r\ncontent-length:") ? kTwoFramings : kBadLength;
  }
  if (error == beast_http::error::bad_version) return names_a_version(head) ? kVersion : kMalformed;
  if (error == beast_http::error::bad_target) return kBadTarget;
  return kMalformed;
}

// Path and query of an origin-form ("/a?b") or absolute-form ("http://host/a?b") target.
bool split_target(std::string_view target, RequestHead& head) {
  if (!is_visible(target) || target.find('#') != std::string_view::npos) return false;
  if (!target.starts_with('/')) {
    const auto scheme = target.find("://");
    if (scheme == std::string_view::npos) return false;
    const auto path = target.find('/', scheme + 3);
    target = path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  const auto mark = target.find('?');
  head.path = target.substr(0, mark);
  head.query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  return true;
}

// What can be said of a head whose end has not come yet.
HeadState judge_beginning(std::string_view bytes, const HeadLimits& limits, Refusal& refusal) {
  const auto refuse = [&](const Refusal& why) {
    refusal = why;
    return HeadState::Refused;
  };
  if (!bytes.empty() && (bytes[0] < 'A' || bytes[0] > 'z')) return refuse(kMalformed);
  const auto line_end = bytes.find('\n');
  if (line_end != std::string_view::npos && (line_end == 0 || bytes[line_end - 1] != '\r')) {
    return refuse(kMalformed);
  }
  if (line_end == std::string_view::npos && bytes.size() > limits.max_target_bytes + 32) {
    return refuse(kTargetTooLong);
  }
  if (bytes.size() > limits.max_head_bytes) return refuse(kHeadTooLarge);
  return HeadState::Incomplete;
}

}  // namespace

HeadState parse_head(std::string_view bytes, const HeadLimits& limits, RequestHead& head, Refusal& refusal) {
  const auto end = bytes.substr(0, limits.max_head_bytes + 1).find("\r\n\r\n");
  if (end == std::string_view::npos) return judge_beginning(bytes, limits, refusal);
  const std::string_view text = bytes.substr(0, end + 4);
  const auto refuse = [&](const Refusal& why) {
    refusal = why;
    return HeadState::Refused;
  };
  if (text.size() > limits.max_head_bytes) return refuse(kHeadTooLarge);

  head.headers.clear();
  head.content_length.reset();
  head.expects_continue = false;
  HeadParser parser(text, head);
  error_code error;
  head.size = parser.put(boost::asio::const_buffer(text.data(), text.size()), error);
  if (parser.fault()) return refuse(*parser.fault());
  if (error) return refuse(refusal_of(error, text));
  if (head.size != text.size()) return refuse(kMalformed);
  if (parser.target().size() > limits.max_target_bytes) return refuse(kTargetTooLong);
  if (!split_target(parser.target(), head)) return refuse(kBadTarget);
  return HeadState::Complete;
}

std::optional<std::string_view> RequestHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equals_ignoring_case(key, name)) return value;
  }
  return std::nullopt;
}

bool equals_ignoring_case(std::string_view left, std::string_view right) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] != right[i] && lower(left[i]) != lower(right[i])) return false;
  }
  return true;
}

std::string_view to_string(Verb verb) {
  switch (verb) {
    case Verb::Get: return "GET";
    case Verb::Head: return "HEAD";
    case Verb::Post: return "POST";
    case Verb::Put: return "PUT";
    case Verb::Delete: return "DELETE";
    case Verb::Other: break;
  }
  return "OTHER";
}

}  // namespace penstock::host::http
