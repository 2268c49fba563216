// Which handler answers a path, and where each answer's duration is counted.
//
// A literal path wins over one with `{name}` segments. Paths are matched segment by segment after
// percent-decoding, so an encoded '/' never separates. A table is immutable once built: the server makes
// a new one for each added route, and a request keeps using the one it started with.
#pragma once

#include "host/http/request_head.hpp"
#include "penstock/http.hpp"
#include "penstock/metrics.hpp"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::host::http {

// The duration histograms of one route and method. A histogram is looked up the first time a status
// occurs and remembered, so that counting an answer builds no labels. Thread-safe.
class Durations {
 public:
  Durations(Metrics& metrics, std::string route, std::string_view method);
  void observe(int status, double seconds);

 private:
  static constexpr int kFirst = 100, kLast = 599;
  Metrics& metrics_;
  const std::string route_;
  const std::string method_;
  std::array<std::atomic<Histogram*>, kLast - kFirst + 1> by_status_{};
};

struct Route {
  HttpRoute spec;
  mutable Durations durations;
  bool always_open;
};

// The names and decoded values of a path's `{name}` parts.
using Params = std::vector<std::pair<std::string_view, std::string>>;

enum class Lookup { Found, NoSuchPath, OtherMethods, BadPath };

class RouteTable {
 public:
  // Throws std::invalid_argument for a malformed path, one that is there already, and one that names
  // its parameters otherwise than another method's route of the same path.
  void add(std::shared_ptr<Route> route);

  // Found: `route` and `params`. OtherMethods: `allow` lists what the path answers to. BadPath: it
  // cannot be decoded.
  Lookup find(Verb verb, std::string_view path, const Route*& route, Params& params,
              std::string& allow) const;

 private:
  struct Node {
    std::vector<std::string> segments;  // a parameter's starts with '{'
    std::array<std::shared_ptr<Route>, 4> by_method;
  };
  Lookup answer(const Node& node, Verb verb, const Route*& route, std::string& allow) const;

  std::map<std::string, Node, std::less<>> literal_;  // by path as written
  std::map<std::string, Node, std::less<>> pattern_;  // by path with every `{name}` as `{}`
};

// Percent-decoding. False for a malformed escape and for an escaped control character.
bool percent_decode(std::string_view text, bool plus_is_space, std::string& decoded);

// The decoded value of one query parameter, or nothing. Malformed pairs are passed over.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace penstock::host::http
