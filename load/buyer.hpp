// One buyer of a Sale, from the first press of the button to the end of the order.
#pragma once

#include "load/requests.hpp"
#include "load/sale.hpp"

namespace penstock::load {

class Buyer {
 public:
  enum class Plan { Pay, CancelAtOnce, CancelLater, WalkAway };

  Buyer(Sale& sale, std::size_t number, Plan plan, bool presses_twice);

  void arrive();
  // For the sum at the end.
  bool accepted() const { return !order_no_.empty(); }
  bool refused() const { return !refusal_.empty(); }
  const OrderView& order() const { return order_; }

 private:
  using OnAnswer = std::function<void(const Answer&, const OrderView&)>;

  // Sends until an answer settles the question; every answer is logged.
  void ask(Action action, std::string request, Milliseconds back_off, OnAnswer settled);
  static bool must_repeat(const Answer& answer);

  void press();
  void ordered(const Answer& answer, const OrderView& view);
  void look(Milliseconds back_off);
  void looked(const OrderView& view);
  void act();
  void pay();
  void cancel();
  void ended();
  void contradict(const std::string& what);

  Sale& sale_;
  const OrderRequest wish_;
  const Plan plan_;
  int presses_open_;
  bool acted_ = false;
  bool ended_ = false;
  TimePoint accepted_at_{};
  std::string order_no_;
  std::string refusal_;
  OrderView order_;
};

}  // namespace penstock::load
