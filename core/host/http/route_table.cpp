#include "host/http/route_table.hpp"

#include <algorithm>
#include <stdexcept>

namespace penstock::host::http {
namespace {

constexpr std::array<std::string_view, 4> kMethodNames{"GET", "POST", "PUT", "DELETE"};

std::size_t index_of(HttpMethod method) {
  return static_cast<std::size_t>(method);
}

// The method whose handler answers, or null. HEAD is GET without the body.
const HttpMethod* method_of(Verb verb) {
  static constexpr HttpMethod kMethods[]{HttpMethod::Get, HttpMethod::Post, HttpMethod::Put,
                                         HttpMethod::Delete};
  switch (verb) {
    case Verb::Get:
    case Verb::Head: return &kMethods[0];
    case Verb::Post: return &kMethods[1];
    case Verb::Put: return &kMethods[2];
    case Verb::Delete: return &kMethods[3];
    case Verb::Other: break;
  }
  return nullptr;
}

// Takes the first segment off `rest`, which starts with '/'.
std::string_view next_segment(std::string_view& rest) {
  rest.remove_prefix(1);
  const auto end = std::min(rest.find('/'), rest.size());
  const auto segment = rest.substr(0, end);
  rest.remove_prefix(end);
  return segment;
}

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) segments.emplace_back(next_segment(path));
  return segments;
}

bool is_param(std::string_view segment) {
  return segment.starts_with('{');
}

void check_path(const std::string& path, const std::vector<std::string>& segments) {
  const auto well_formed = [](const std::string& segment) {
    if (segment.find_first_of("%?#") != std::string::npos) return false;
    if (!is_param(segment)) return segment.find_first_of("{}") == std::string::npos;
    return segment.size() > 2 && segment.find('}') == segment.size() - 1;
  };
  if (path.starts_with('/') && std::all_of(segments.begin(), segments.end(), well_formed)) return;
  throw std::invalid_argument("route path \"" + path + "\" is malformed: needed /segment/{name}/...");
}

std::string shape_of(const std::vector<std::string>& segments) {
  std::string shape;
  for (const auto& segment : segments) shape += is_param(segment) ? "/{}" : "/" + segment;
  return shape;
}

// True when `path`, which has no escapes, fits; fills `params`.
bool fits(const std::vector<std::string>& segments, std::string_view path, Params& params) {
  params.clear();
  for (const auto& segment : segments) {
    if (path.empty()) return false;
    const auto part = next_segment(path);
    if (!is_param(segment)) {
      if (part != segment) return false;
      continue;
    }
    std::string value;
    if (part.empty() || !percent_decode(part, false, value)) return false;
    params.emplace_back(std::string_view(segment).substr(1, segment.size() - 2), std::move(value));
  }
  return path.empty();
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes what needs no escape, so that equal paths compare equal; escapes of '/' and '%' stay.
bool normalise(std::string_view path, std::string& normal) {
  normal.clear();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      normal += path[i];
      continue;
    }
    std::string one;
    if (!percent_decode(path.substr(i, 3), false, one)) return false;
    if (one == "/" || one == "%") {
      normal += path.substr(i, 3);
    } else {
      normal += one;
    }
    i += 2;
  }
  return true;
}

}  // namespace

Durations::Durations(Metrics& metrics, std::string route, std::string_view method)
    : metrics_(metrics), route_(std::move(route)), method_(method) {}

void Durations::observe(int status, double seconds) {
  auto& slot = by_status_[static_cast<std::size_t>(std::clamp(status, kFirst, kLast) - kFirst)];
  Histogram* histogram = slot.load(std::memory_order_acquire);
  if (!histogram) {
    histogram = &metrics_.histogram(
        "penstock_http_request_duration_seconds",
        "From the whole request read to its answer handed to the socket.",
        {{"route", route_}, {"method", method_}, {"code", std::to_string(status)}}, kDurationBuckets);
    slot.store(histogram, std::memory_order_release);
  }
  histogram->observe(seconds);
}

void RouteTable::add(std::shared_ptr<Route> route) {
  const auto segments = segments_of(route->spec.path.starts_with('/') ? route->spec.path : "");
  check_path(route->spec.path, segments);
  const bool literal = std::none_of(segments.begin(), segments.end(), is_param);
  Node& node = literal ? literal_[route->spec.path] : pattern_[shape_of(segments)];
  auto& place = node.by_method[index_of(route->spec.method)];
  if (place) {
    throw std::invalid_argument("route " + std::string(kMethodNames[index_of(route->spec.method)]) + " " +
                                route->spec.path + " is registered already");
  }
  const bool first = std::none_of(node.by_method.begin(), node.by_method.end(), [](auto& r) { return r; });
  if (!first && node.segments != segments) {
    throw std::invalid_argument("route path " + route->spec.path +
                                " names its parameters otherwise than another method of it does");
  }
  node.segments = segments;
  place = std::move(route);
}

Lookup RouteTable::find(Verb verb, std::string_view path, const Route*& route, Params& params,
                        std::string& allow) const {
  params.clear();
  std::string normal;
  if (path.find('%') != std::string_view::npos) {
    if (!normalise(path, normal)) return Lookup::BadPath;
    path = normal;
  }
  if (const auto found = literal_.find(path); found != literal_.end()) {
    return answer(found->second, verb, route, allow);
  }
  for (const auto& [shape, node] : pattern_) {
    if (fits(node.segments, path, params)) return answer(node, verb, route, allow);
  }
  return Lookup::NoSuchPath;
}

Lookup RouteTable::answer(const Node& node, Verb verb, const Route*& route, std::string& allow) const {
  const HttpMethod* method = method_of(verb);
  route = method ? node.by_method[index_of(*method)].get() : nullptr;
  if (route) return Lookup::Found;
  allow.clear();
  for (std::size_t i = 0; i < kMethodNames.size(); ++i) {
    if (!node.by_method[i]) continue;
    allow += allow.empty() ? "" : ", ";
    allow += kMethodNames[i];
    if (kMethodNames[i] == "GET") allow += ", HEAD";
  }
  return Lookup::OtherMethods;
}

bool percent_decode(std::string_view text, bool plus_is_space, std::string& decoded) {
  decoded.clear();
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return false;
    const auto byte = static_cast<unsigned char>(high * 16 + low);
    if (byte < 0x20 || byte == 0x7f) return false;
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return true;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const auto pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    std::string key, value;
    if (!percent_decode(pair.substr(0, equals), true, key) || key != name) continue;
    if (percent_decode(pair.substr(std::min(equals + 1, pair.size())), true, value)) return value;
  }
  return std::nullopt;
}

}  // namespace penstock::host::http
