#include "timeout_release/hold_releaser.hpp"

#include "penstock/fail_point.hpp"

namespace penstock::timeout_release {

using orders::Handled;
using orders::ReleaseKind;
using orders::ReleaseOutcome;

std::vector<orders::Verdict> HoldReleaser::work(std::span<const orders::EventItem> items) {
  if (auto armed = fail_point::hit("gate.before_release"); !armed) {
    return retry_.all_failed(items, armed.error());
  }
  std::vector<orders::ReleaseRequest> requests;
  requests.reserve(items.size());
  for (const auto& item : items)
    requests.push_back({item.event.order_no, item.event.lines, ReleaseKind::Ended});

  const auto outcomes = gate_.release(requests);
  if (auto armed = fail_point::hit("gate.after_release"); !armed) {
    return retry_.all_failed(items, armed.error());
  }
  std::vector<orders::Verdict> verdicts;
  verdicts.reserve(items.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i])
      verdicts.push_back(retry_.failed(items[i], outcomes[i].error()));
    else if (*outcomes[i] == ReleaseOutcome::Released)
      verdicts.push_back({Handled::Done, {}, {}});
    else
      verdicts.push_back({Handled::Repeated, {}, {}});
  }
  return verdicts;
}

}  // namespace penstock::timeout_release
