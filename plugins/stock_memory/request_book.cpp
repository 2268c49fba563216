#include "stock_memory/request_book.hpp"

#include <cassert>

namespace penstock::stock_memory {

KnownRequest::KnownRequest(const orders::UserId& user, const orders::RequestId& request,
                           const orders::BodyHash& body, const orders::OrderNo& order_no)
    : user_end_(static_cast<std::uint32_t>(user.str().size())),
      request_end_(user_end_ + static_cast<std::uint32_t>(request.str().size())),
      body_end_(request_end_ + static_cast<std::uint32_t>(body.str().size())) {
  text_.reserve(body_end_ + order_no.str().size());
  text_.append(user.str()).append(request.str()).append(body.str()).append(order_no.str());
}

const KnownRequest* RequestBook::find(const orders::UserId& user, const orders::RequestId& request) const {
  const auto found = known_.find(Key{user.str(), request.str()});
  return found == known_.end() ? nullptr : &*found;
}

const KnownRequest& RequestBook::add(KnownRequest request) {
  const auto [position, added] = known_.insert(std::move(request));
  assert(added);
  return *position;
}

void RequestBook::end(const KnownRequest& request) {
  ended_.push_back(&request);
  while (ended_.size() > remembered_) {
    forget(*ended_.front());
    ended_.pop_front();
  }
}

void RequestBook::forget(const KnownRequest& request) {
  known_.erase(known_.find(key_of(request)));
}

}  // namespace penstock::stock_memory
