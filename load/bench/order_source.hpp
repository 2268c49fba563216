// Order requests that differ only in their user and request id, made by patching digits in place: the
// load tool must not spend on JSON what it should spend on sending.
#pragma once

#include "load/requests.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::load {

class OrderSource {
 public:
  // `run` keeps the ids of several sources on one server apart.
  OrderSource(const std::string& product, const std::string& run)
      : text_(order_request({"u" + run + kBlank, "r" + run + kBlank, product, 1})) {
    for (auto at = text_.find(kBlank); at != std::string::npos; at = text_.find(kBlank, at + 1)) {
      places_.push_back(at);
    }
  }

  // Valid until the next call.
  const std::string& next() {
    std::string digits = std::to_string(++made_);
    digits.insert(0, sizeof kBlank - 1 - digits.size(), '0');
    for (const auto place : places_) text_.replace(place, digits.size(), digits);
    return text_;
  }

 private:
  static constexpr char kBlank[] = "##########";
  std::string text_;
  std::vector<std::size_t> places_;
  std::uint64_t made_ = 0;
};

}  // namespace penstock::load
