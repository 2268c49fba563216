#include "load/buyer.hpp"

#include <algorithm>
#include <utility>

namespace penstock::load {
namespace {

constexpr Milliseconds kWalkedAwayPoll{200};

std::string run_name(std::uint64_t seed) {
  char text[17];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(seed));
  return text;
}

}  // namespace

Buyer::Buyer(Sale& sale, std::size_t number, Plan plan, bool presses_twice)
    : sale_(sale),
      wish_{"u-" + run_name(sale.settings_.seed) + "-" + std::to_string(number),
            "r-" + run_name(sale.settings_.seed) + "-" + std::to_string(number), sale.settings_.product,
            sale.settings_.quantity},
      plan_(plan),
      presses_open_(presses_twice ? 2 : 1) {}

void Buyer::arrive() {
  ++sale_.result_.asked;
  for (int i = presses_open_; i > 0; --i) press();
}

void Buyer::press() {
  ask(Action::Order, order_request(wish_), sale_.settings_.first_back_off,
      [this](const Answer& answer, const OrderView& view) { ordered(answer, view); });
}

void Buyer::ask(Action action, std::string request, Milliseconds back_off, OnAnswer settled) {
  auto done = [this, action, request, back_off, settled = std::move(settled)](const Answer& answer) {
    const OrderView view = read_order(answer.body);
    sale_.log_.add({sale_.elapsed_ms(), action, wish_.user, wish_.request_id, answer.status, answer.failure,
                    view.code, view.order_no, view.status, view.reason});
    if (!must_repeat(answer)) return settled(answer, view);
    ++sale_.result_.repeats;
    const auto jitter = Milliseconds(sale_.random_() % static_cast<std::uint64_t>(back_off.count() + 1));
    sale_.loop_.after(back_off + jitter, [this, action, request, back_off, settled] {
      ask(action, request, std::min(back_off * 2, sale_.settings_.max_back_off), settled);
    });
  };
  sale_.pool_.send(std::move(request), std::move(done));
}

// The outcome is unknown, or nothing was done: the same request again is right in both cases.
bool Buyer::must_repeat(const Answer& answer) {
  return answer.failure != Failure::None || answer.status == 429 || answer.status >= 500;
}

void Buyer::ordered(const Answer& answer, const OrderView& view) {
  --presses_open_;
  if (answer.status != 202) {
    // Of two presses one may find the last unit gone and the other a unit that came back.
    refusal_ = view.code.empty() ? "HTTP_" + std::to_string(answer.status) : view.code;
    if (presses_open_ == 0 && !accepted()) ended();
    return;
  }
  if (view.order_no.empty()) return contradict("202 without an order number");
  if (accepted()) {
    if (view.order_no != order_no_) contradict("two order numbers, " + order_no_ + " and " + view.order_no);
    return;
  }
  order_no_ = view.order_no;
  accepted_at_ = std::chrono::steady_clock::now();
  ++sale_.result_.accepted;
  sale_.result_.accept.add(answer.latency);
  if (plan_ == Plan::CancelAtOnce) cancel();
  look(sale_.settings_.first_back_off);
}

// Reads the order until it has ended. Failed looks are not logged: they say nothing.
void Buyer::look(Milliseconds back_off) {
  sale_.pool_.send(read_request(wish_.user, order_no_), [this, back_off](const Answer& answer) {
    if (answer.status == 200) return looked(read_order(answer.body));
    if (answer.status == 404) return contradict("202 for " + order_no_ + " and then 404");
    sale_.loop_.after(back_off,
                      [this, back_off] { look(std::min(back_off * 2, sale_.settings_.max_back_off)); });
  });
}

void Buyer::looked(const OrderView& view) {
  const bool was_processing = order_.status.empty() || order_.status == "PROCESSING";
  order_ = view;
  if (view.final()) {
    sale_.log_.add({sale_.elapsed_ms(), Action::Final, wish_.user, wish_.request_id, 200, Failure::None, "",
                    view.order_no, view.status, view.reason});
    return ended();
  }
  if (view.status == "WAITING_PAY") {
    if (was_processing) sale_.result_.settle.add(std::chrono::steady_clock::now() - accepted_at_);
    act();
  }
  const bool may_wait = view.status == "WAITING_PAY" && plan_ == Plan::WalkAway;
  const auto pause = may_wait ? std::max(kWalkedAwayPoll, sale_.settings_.poll) : sale_.settings_.poll;
  sale_.loop_.after(pause, [this] { look(sale_.settings_.first_back_off); });
}

void Buyer::act() {
  if (std::exchange(acted_, true)) return;
  if (plan_ == Plan::Pay) pay();
  if (plan_ == Plan::CancelLater) cancel();
}

void Buyer::pay() {
  ask(Action::Pay, payment_request({"p-" + order_no_, order_no_, order_.amount_minor, order_.currency}),
      sale_.settings_.first_back_off, [](const Answer&, const OrderView&) {});
}

void Buyer::cancel() {
  acted_ = true;
  ask(Action::Cancel, cancel_request(wish_.user, order_no_), sale_.settings_.first_back_off,
      [](const Answer&, const OrderView&) {});
}

void Buyer::ended() {
  if (std::exchange(ended_, true)) return;
  if (refused() && !accepted()) ++sale_.result_.refused[refusal_];
  sale_.buyer_finished();
}

void Buyer::contradict(const std::string& what) {
  sale_.result_.contradictions.push_back(wish_.user + " " + wish_.request_id + ": " + what);
  ended();
}

}  // namespace penstock::load
