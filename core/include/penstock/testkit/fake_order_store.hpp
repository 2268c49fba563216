// An order store that does what the test says: each call is answered by its hook, item by item, and
// the items asked for are kept. Without a hook a call answers its happy outcome. Set the hooks before
// the calls start.
#pragma once

#include "penstock/orders/order_store.hpp"

#include <mutex>

namespace penstock::testkit {

class FakeOrderStore : public orders::OrderStore {
 public:
  std::function<Result<orders::AcceptAnswer>(const orders::NewOrder&)> on_accept;
  std::function<Result<orders::OutboxLease>(std::size_t max)> on_lease;
  std::function<Result<std::vector<orders::MarkOutcome>>(const LeaseToken&,
                                                         std::span<const orders::OutboxMark>)>
      on_mark;
  std::function<Result<orders::LockOutcome>(const orders::LockRequest&)> on_lock;
  std::function<Result<orders::PayAnswer>(const orders::Payment&)> on_pay;
  std::function<Result<orders::CancelAnswer>(const orders::CancelRequest&)> on_cancel;
  std::function<Result<orders::ExpireAnswer>(const orders::OrderNo&)> on_expire;
  std::function<Result<std::vector<orders::OrderNo>>(std::size_t limit)> on_overdue;
  std::function<Result<orders::AbandonOutcome>(const orders::OrderNo&)> on_abandon;
  std::function<Result<std::vector<std::optional<orders::Order>>>(std::span<const orders::OrderNo>)> on_find;
  std::function<Result<std::vector<orders::OrderMove>>(std::span<const orders::OrderNo>, std::int64_t)>
      on_moves;
  std::function<Result<TimePoint>()> on_now;

  std::vector<Result<orders::AcceptAnswer>> accept(std::span<const orders::NewOrder> items) override {
    return each<orders::AcceptAnswer>(items, accepted_, on_accept, [](const orders::NewOrder& order) {
      return orders::AcceptAnswer{orders::AcceptOutcome::Accepted, order.order_no};
    });
  }

  Result<orders::OutboxLease> lease_outbox(std::size_t max, Milliseconds) override {
    const std::lock_guard lock(mutex_);
    ++leases_;
    return on_lease ? on_lease(max) : orders::OutboxLease{};
  }

  Result<std::vector<orders::MarkOutcome>> mark_outbox(const LeaseToken& token,
                                                       std::span<const orders::OutboxMark> items) override {
    const std::lock_guard lock(mutex_);
    marks_.insert(marks_.end(), items.begin(), items.end());
    if (on_mark) return on_mark(token, items);
    return std::vector<orders::MarkOutcome>(items.size(), orders::MarkOutcome::Marked);
  }

  [[nodiscard]] std::unique_ptr<orders::OutboxWatch> watch_outbox(std::function<void()> wake) override {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
    return std::make_unique<Watch>(*this);
  }

  std::vector<Result<orders::LockOutcome>> lock_stock(std::span<const orders::LockRequest> items) override {
    return each<orders::LockOutcome>(items, locked_, on_lock,
                                     [](const orders::LockRequest&) { return orders::LockOutcome::Locked; });
  }

  std::vector<Result<orders::PayAnswer>> pay(std::span<const orders::Payment> items) override {
    return each<orders::PayAnswer>(items, paid_, on_pay, [](const orders::Payment&) {
      return orders::PayAnswer{orders::PayOutcome::Paid, orders::OrderStatus::Paid};
    });
  }

  std::vector<Result<orders::CancelAnswer>> cancel(std::span<const orders::CancelRequest> items) override {
    return each<orders::CancelAnswer>(items, cancelled_, on_cancel, [](const orders::CancelRequest&) {
      return orders::CancelAnswer{orders::CancelOutcome::Cancelled, orders::OrderStatus::Cancelled};
    });
  }

  std::vector<Result<orders::ExpireAnswer>> expire(std::span<const orders::OrderNo> items) override {
    return each<orders::ExpireAnswer>(items, expired_, on_expire, [](const orders::OrderNo&) {
      return orders::ExpireAnswer{orders::ExpireOutcome::Expired, Milliseconds(0)};
    });
  }

  Result<std::vector<orders::OrderNo>> overdue(std::size_t limit) override {
    const std::lock_guard lock(mutex_);
    return on_overdue ? on_overdue(limit) : std::vector<orders::OrderNo>{};
  }

  std::vector<Result<orders::AbandonOutcome>> abandon(std::span<const orders::OrderNo> items) override {
    return each<orders::AbandonOutcome>(items, abandoned_, on_abandon, [](const orders::OrderNo&) {
      return orders::AbandonOutcome::Abandoned;
    });
  }

  Result<std::vector<std::optional<orders::Order>>> find(std::span<const orders::OrderNo> items) override {
    const std::lock_guard lock(mutex_);
    found_.insert(found_.end(), items.begin(), items.end());
    if (on_find) return on_find(items);
    return std::vector<std::optional<orders::Order>>(items.size());
  }

  Result<std::vector<orders::OrderMove>> moves_after(std::span<const orders::OrderNo> items,
                                                     std::int64_t sequence) override {
    const std::lock_guard lock(mutex_);
    return on_moves ? on_moves(items, sequence) : std::vector<orders::OrderMove>{};
  }

  Result<TimePoint> now() override {
    const std::lock_guard lock(mutex_);
    return on_now ? on_now() : TimePoint{};
  }

  // Plays a commit that wrote outbox rows.
  void wake_outbox() {
    const std::lock_guard lock(mutex_);
    if (wake_) wake_();
  }

  // What was asked for so far.
  std::vector<orders::NewOrder> accepted() const { return copy(accepted_); }
  std::vector<orders::OutboxMark> marks() const { return copy(marks_); }
  std::vector<orders::LockRequest> locked() const { return copy(locked_); }
  std::vector<orders::Payment> paid() const { return copy(paid_); }
  std::vector<orders::CancelRequest> cancelled() const { return copy(cancelled_); }
  std::vector<orders::OrderNo> expired() const { return copy(expired_); }
  std::vector<orders::OrderNo> abandoned() const { return copy(abandoned_); }
  std::vector<orders::OrderNo> found() const { return copy(found_); }
  int leases() const {
    const std::lock_guard lock(mutex_);
    return leases_;
  }

 private:
  class Watch : public orders::OutboxWatch {
   public:
    explicit Watch(FakeOrderStore& store) : store_(store) {}
    ~Watch() override {
      const std::lock_guard lock(store_.mutex_);
      store_.wake_ = nullptr;
    }

   private:
    FakeOrderStore& store_;
  };

  template <class Answer, class Item, class Hook, class Happy>
  std::vector<Result<Answer>> each(std::span<const Item> items, std::vector<Item>& kept, const Hook& hook,
                                   Happy happy) {
    const std::lock_guard lock(mutex_);
    kept.insert(kept.end(), items.begin(), items.end());
    std::vector<Result<Answer>> answers;
    for (const auto& item : items) {
      if (hook)
        answers.push_back(hook(item));
      else
        answers.push_back(happy(item));
    }
    return answers;
  }

  template <class Item>
  std::vector<Item> copy(const std::vector<Item>& kept) const {
    const std::lock_guard lock(mutex_);
    return kept;
  }

  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<orders::NewOrder> accepted_;
  std::vector<orders::OutboxMark> marks_;
  std::vector<orders::LockRequest> locked_;
  std::vector<orders::Payment> paid_;
  std::vector<orders::CancelRequest> cancelled_;
  std::vector<orders::OrderNo> expired_;
  std::vector<orders::OrderNo> abandoned_;
  std::vector<orders::OrderNo> found_;
  int leases_ = 0;
};

}  // namespace penstock::testkit
