#include "load/sale.hpp"

#include "load/buyer.hpp"

namespace penstock::load {
namespace {

constexpr Milliseconds kProgress{250};

}  // namespace

Sale::Sale(SaleSettings settings)
    : settings_(std::move(settings)),
      loop_(settings_.target),
      pool_(loop_, settings_.connections, settings_.answer_limit),
      log_(settings_.answers_path),
      random_(settings_.seed) {
  for (std::size_t i = 0; i < settings_.buyers; ++i) {
    const auto percent = static_cast<int>(random_() % 100);
    const auto cancels = settings_.pay_percent + settings_.cancel_percent;
    auto plan = percent < settings_.pay_percent ? Buyer::Plan::Pay : Buyer::Plan::WalkAway;
    if (plan != Buyer::Plan::Pay && percent < cancels) {
      plan = random_() % 2 == 0 ? Buyer::Plan::CancelAtOnce : Buyer::Plan::CancelLater;
    }
    const bool twice = static_cast<int>(random_() % 100) < settings_.twice_percent;
    buyers_.push_back(std::make_unique<Buyer>(*this, i, plan, twice));
  }
}

Sale::~Sale() = default;

const SaleResult& Sale::run(const std::function<void(const SaleResult&)>& progress) {
  began_ = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < buyers_.size(); ++i) {
    const auto delay = settings_.arrival * static_cast<Milliseconds::rep>(i) /
                       static_cast<Milliseconds::rep>(buyers_.size());
    loop_.after(delay, [buyer = buyers_[i].get()] { buyer->arrive(); });
  }
  loop_.after(settings_.deadline, [this] { loop_.stop(); });
  report(progress);
  if (!buyers_.empty()) loop_.run();
  sum_up();
  return result_;
}

void Sale::report(const std::function<void(const SaleResult&)>& progress) {
  sum_up();
  progress(result_);
  loop_.after(kProgress, [this, &progress] { report(progress); });
}

void Sale::buyer_finished() {
  if (++finished_ == buyers_.size()) loop_.stop();
}

void Sale::sum_up() {
  result_.states.clear();
  result_.unanswered = result_.unfinished = 0;
  for (const auto& buyer : buyers_) {
    if (!buyer->accepted()) {
      if (!buyer->refused()) ++result_.unanswered;
      continue;
    }
    const OrderView& order = buyer->order();
    if (!order.final()) ++result_.unfinished;
    const std::string state = order.status.empty() ? "PROCESSING" : order.status;
    ++result_.states[order.reason.empty() ? state : state + "/" + order.reason];
  }
  result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

std::int64_t Sale::elapsed_ms() const {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - began_).count();
}

}  // namespace penstock::load
