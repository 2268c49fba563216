// The right to answer, shared by those who might: the work itself, and the lane when the work fails.
// The first answer counts, later ones are dropped. Not thread-safe: a request is in one hand at a time.
#pragma once

#include "penstock/http.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace penstock::order_intake {

class PendingReply {
 public:
  explicit PendingReply(HttpReply reply) : reply_(std::move(reply)) {}

  void send(HttpResponse response) {
    if (auto reply = std::exchange(reply_, std::nullopt)) reply->send(std::move(response));
  }
  // Null when answered before, or when the listener has no room for another stream.
  std::shared_ptr<HttpStream> stream() {
    auto reply = std::exchange(reply_, std::nullopt);
    return reply ? reply->stream() : nullptr;
  }

 private:
  std::optional<HttpReply> reply_;
};

using PendingReplyPtr = std::shared_ptr<PendingReply>;

}  // namespace penstock::order_intake
