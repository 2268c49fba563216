#include "sql/session_pool.hpp"

#include <algorithm>

namespace penstock::sql {

SessionPool::SessionPool(const Dialect& dialect, const Settings& settings, std::size_t size)
    : dialect_(dialect), settings_(settings), free_(size) {}

Session& SessionPool::Lease::session() {
  if (!session_) session_ = std::make_unique<Session>(pool_.dialect_, pool_.settings_);
  return *session_;
}

std::unique_ptr<SessionPool::Lease> SessionPool::acquire() {
  std::unique_lock lock(mutex_);
  if (!free_.empty() && waiting_.empty()) {
    Slot slot = std::move(free_.back());
    free_.pop_back();
    return std::make_unique<Lease>(*this, std::move(slot));
  }
  Waiter waiter;
  if (!wait_for_slot(lock, waiter)) return nullptr;
  return std::make_unique<Lease>(*this, std::move(waiter.session));
}

std::size_t SessionPool::waiting() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.size();
}

bool SessionPool::wait_for_slot(std::unique_lock<std::mutex>& lock, Waiter& waiter) {
  waiting_.push_back(&waiter);
  waiter.given.wait_for(lock, settings_.session_wait, [&] { return waiter.has_slot; });
  if (!waiter.has_slot) std::erase(waiting_, &waiter);
  return waiter.has_slot;
}

void SessionPool::give_back(Slot slot) {
  if (slot && slot->broken()) slot.reset();
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) {
    free_.push_back(std::move(slot));
    return;
  }
  Waiter& next = *waiting_.front();
  waiting_.pop_front();
  next.session = std::move(slot);
  next.has_slot = true;
  next.given.notify_one();
}

}  // namespace penstock::sql
