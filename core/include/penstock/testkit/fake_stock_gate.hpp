// A stock gate that does what the test says: each call is answered by its hook, and the items asked for
// are kept. Without a hook a call answers its happy outcome. Set the hooks before the calls start.
#pragma once

#include "penstock/orders/stock_gate.hpp"

#include <functional>
#include <mutex>

namespace penstock::testkit {

class FakeStockGate : public orders::StockGate {
 public:
  std::function<Result<orders::ReserveAnswer>(const orders::ReserveRequest&)> on_reserve;
  std::function<Result<orders::ReleaseOutcome>(const orders::ReleaseRequest&)> on_release;
  std::function<Result<orders::ConfirmOutcome>(const orders::ConfirmRequest&)> on_confirm;
  std::function<Result<orders::Epoch>()> on_begin_rebuild;
  std::function<Result<void>(orders::Epoch, const orders::GateImage&)> on_finish_rebuild;
  std::function<Result<orders::LoadOutcome>(const orders::GateSku&)> on_load;
  std::function<Result<std::vector<orders::GateHold>>(orders::HoldSpan, std::size_t limit)> on_holds;
  std::function<Result<std::vector<orders::SkuSnapshot>>()> on_snapshot;

  std::vector<Result<orders::ReserveAnswer>> reserve(std::span<const orders::ReserveRequest> items) override {
    return each<orders::ReserveAnswer>(
        items, reserved_, on_reserve, [](const orders::ReserveRequest& request) {
          return orders::ReserveAnswer{orders::ReserveOutcome::Reserved, request.order_no, {}};
        });
  }

  std::vector<Result<orders::ReleaseOutcome>> release(
      std::span<const orders::ReleaseRequest> items) override {
    return each<orders::ReleaseOutcome>(items, released_, on_release, [](const orders::ReleaseRequest&) {
      return orders::ReleaseOutcome::Released;
    });
  }

  std::vector<Result<orders::ConfirmOutcome>> confirm(
      std::span<const orders::ConfirmRequest> items) override {
    return each<orders::ConfirmOutcome>(items, confirmed_, on_confirm, [](const orders::ConfirmRequest&) {
      return orders::ConfirmOutcome::Confirmed;
    });
  }

  Result<orders::Epoch> begin_rebuild() override {
    const std::lock_guard lock(mutex_);
    ++rebuilds_begun_;
    return on_begin_rebuild ? on_begin_rebuild() : orders::Epoch(rebuilds_begun_);
  }

  Result<void> finish_rebuild(orders::Epoch epoch, const orders::GateImage& image) override {
    const std::lock_guard lock(mutex_);
    images_.push_back(image);
    return on_finish_rebuild ? on_finish_rebuild(epoch, image) : Result<void>();
  }

  std::vector<Result<orders::LoadOutcome>> load(std::span<const orders::GateSku> items) override {
    return each<orders::LoadOutcome>(items, loaded_, on_load,
                                     [](const orders::GateSku&) { return orders::LoadOutcome::Added; });
  }

  Result<std::vector<orders::GateHold>> holds(orders::HoldSpan span, std::size_t limit) override {
    const std::lock_guard lock(mutex_);
    return on_holds ? on_holds(span, limit) : std::vector<orders::GateHold>{};
  }

  Result<std::vector<orders::SkuSnapshot>> snapshot() override {
    const std::lock_guard lock(mutex_);
    return on_snapshot ? on_snapshot() : std::vector<orders::SkuSnapshot>{};
  }

  // What was asked for so far.
  std::vector<orders::ReserveRequest> reserved() const { return copy(reserved_); }
  std::vector<orders::ReleaseRequest> released() const { return copy(released_); }
  std::vector<orders::ConfirmRequest> confirmed() const { return copy(confirmed_); }
  std::vector<orders::GateSku> loaded() const { return copy(loaded_); }
  std::vector<orders::GateImage> images() const { return copy(images_); }
  int rebuilds_begun() const {
    const std::lock_guard lock(mutex_);
    return rebuilds_begun_;
  }

 private:
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
  std::vector<orders::ReserveRequest> reserved_;
  std::vector<orders::ReleaseRequest> released_;
  std::vector<orders::ConfirmRequest> confirmed_;
  std::vector<orders::GateSku> loaded_;
  std::vector<orders::GateImage> images_;
  int rebuilds_begun_ = 0;
};

}  // namespace penstock::testkit
