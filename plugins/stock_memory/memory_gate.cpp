#include "stock_memory/memory_gate.hpp"

#include <utility>

namespace penstock::stock_memory {
namespace {

Error closed() {
  return {ErrorCode::NotLoaded, "the stock gate is closed until it is rebuilt from the books; try again"};
}

// One answer per item: from `step` when the gate is open, the error when it is closed.
template <class Answer, class Items, class Step>
std::vector<Result<Answer>> each(const Items& items, bool open, const Step& step) {
  std::vector<Result<Answer>> answers;
  answers.reserve(items.size());
  for (const auto& item : items) {
    if (open)
      answers.push_back(step(item));
    else
      answers.push_back(closed());
  }
  return answers;
}

}  // namespace

MemoryGate::MemoryGate(MemoryGateSettings settings, Clock& clock, HealthProbe& probe)
    : settings_(settings), clock_(clock), probe_(probe) {}

std::vector<Result<orders::ReserveAnswer>> MemoryGate::reserve(
    std::span<const orders::ReserveRequest> requests) {
  const auto now = clock_.now();
  const std::lock_guard lock(mutex_);
  if (!figures_) {
    const orders::ReserveAnswer not_loaded{orders::ReserveOutcome::NotLoaded, {}, {}};
    return std::vector<Result<orders::ReserveAnswer>>(requests.size(), not_loaded);
  }
  return each<orders::ReserveAnswer>(requests, true, [&](const orders::ReserveRequest& request) {
    return figures_->reserve(request, now, epoch_);
  });
}

std::vector<Result<orders::ReleaseOutcome>> MemoryGate::release(
    std::span<const orders::ReleaseRequest> requests) {
  const std::lock_guard lock(mutex_);
  return each<orders::ReleaseOutcome>(requests, figures_ != nullptr,
                                      [&](const orders::ReleaseRequest& request) {
                                        return figures_->release(request.order_no, request.kind);
                                      });
}

std::vector<Result<orders::ConfirmOutcome>> MemoryGate::confirm(
    std::span<const orders::ConfirmRequest> requests) {
  const std::lock_guard lock(mutex_);
  return each<orders::ConfirmOutcome>(
      requests, figures_ != nullptr,
      [&](const orders::ConfirmRequest& request) { return figures_->confirm(request.order_no); });
}

Result<orders::Epoch> MemoryGate::begin_rebuild() {
  std::unique_ptr<Figures> old;  // destroyed after the lock is given up: it may be large
  const std::lock_guard lock(mutex_);
  old = std::exchange(figures_, nullptr);
  probe_.not_ready("closed: being rebuilt from the books");
  return ++epoch_;
}

Result<void> MemoryGate::finish_rebuild(orders::Epoch epoch, const orders::GateImage& image) {
  {
    const std::lock_guard lock(mutex_);
    if (auto current = check_current(epoch); !current) return current;
  }
  auto figures = Figures::from_image(image, epoch, settings_.remembered_requests);
  if (!figures) return Error{figures.error().code, "the gate's image is refused: " + figures.error().message};

  const std::lock_guard lock(mutex_);
  if (auto current = check_current(epoch); !current) return current;
  figures_ = std::move(*figures);
  probe_.ready();
  return {};
}

Result<void> MemoryGate::check_current(orders::Epoch epoch) const {
  if (epoch != epoch_ || epoch == 0) {  // the first rebuild has epoch 1
    return Error{ErrorCode::Conflict, "rebuild epoch " + std::to_string(epoch) +
                                          " is over: the gate is at epoch " + std::to_string(epoch_) +
                                          "; begin a new rebuild"};
  }
  // What was reserved since the gate opened is not in the image, so it cannot be taken twice.
  if (figures_) {
    return Error{ErrorCode::Conflict,
                 "rebuild epoch " + std::to_string(epoch) + " is finished already; begin a new rebuild"};
  }
  return {};
}

std::vector<Result<orders::LoadOutcome>> MemoryGate::load(std::span<const orders::GateSku> skus) {
  const std::lock_guard lock(mutex_);
  return each<orders::LoadOutcome>(skus, figures_ != nullptr,
                                   [&](const orders::GateSku& sku) { return figures_->load(sku); });
}

Result<std::vector<orders::GateHold>> MemoryGate::holds(orders::HoldSpan span, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (!figures_) return closed();
  return figures_->holds(span, limit);
}

Result<std::vector<orders::SkuSnapshot>> MemoryGate::snapshot() {
  const std::lock_guard lock(mutex_);
  if (!figures_) return closed();
  return figures_->snapshot();
}

}  // namespace penstock::stock_memory
