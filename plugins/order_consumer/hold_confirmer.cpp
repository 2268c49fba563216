#include "order_consumer/hold_confirmer.hpp"

#include "penstock/fail_point.hpp"

namespace penstock::order_consumer {

using orders::ConfirmOutcome;
using orders::Handled;

std::vector<orders::Verdict> HoldConfirmer::work(std::span<const orders::EventItem> items) {
  std::vector<orders::ConfirmRequest> requests;
  requests.reserve(items.size());
  for (const auto& item : items) requests.push_back({item.event.order_no, item.event.lines});

  const auto outcomes = gate_.confirm(requests);
  if (auto armed = fail_point::hit("gate.after_confirm"); !armed) {
    return retry_.all_failed(items, armed.error());
  }
  std::vector<orders::Verdict> verdicts;
  verdicts.reserve(items.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i])
      verdicts.push_back(retry_.failed(items[i], outcomes[i].error()));
    else if (*outcomes[i] == ConfirmOutcome::Confirmed)
      verdicts.push_back({Handled::Done, {}, {}});
    else
      verdicts.push_back({Handled::Repeated, {}, {}});
  }
  return verdicts;
}

}  // namespace penstock::order_consumer
