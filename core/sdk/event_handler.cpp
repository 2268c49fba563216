#include "penstock/orders/event_handler.hpp"

#include <stdexcept>
#include <utility>

namespace penstock::orders {

Verdict RetryPolicy::later(const EventItem& item, std::string reason) const {
  return {Handled::Retried, std::move(reason), wait_before(item.attempt, settings_.back_off, random_)};
}

Verdict RetryPolicy::failed(const EventItem& item, const Error& error) const {
  // Closed is no verdict on the event: this process is stopping, and another delivery will find one
  // that is not.
  const bool hopeless = error.retry() == Retry::No && error.code != ErrorCode::Closed;
  auto reason = std::string(to_string(error.code)) + ": " + error.message;
  if (hopeless) return {Handled::Dead, std::move(reason), {}};
  return later(item, std::move(reason));
}

Verdict RetryPolicy::unknown_order(const EventItem& item) const {
  auto reason = "order " + item.event.order_no.str() + " of event " + item.event.id.str() +
                " is not in the order store";
  if (item.attempt < settings_.unknown_order_attempts) return later(item, std::move(reason));
  reason += ", also not at delivery " + std::to_string(item.attempt) +
            "; see which installation published it, then replay or drop it";
  return {Handled::Dead, std::move(reason), {}};
}

std::vector<Verdict> RetryPolicy::all_failed(std::span<const EventItem> items, const Error& error) const {
  std::vector<Verdict> verdicts;
  verdicts.reserve(items.size());
  for (const auto& item : items) verdicts.push_back(failed(item, error));
  return verdicts;
}

EventHandler::EventHandler(EventHandlerSettings settings, Metrics& metrics, Work work)
    : settings_(std::move(settings)),
      work_(std::move(work)),
      batch_size_(metrics.histogram("penstock_batch_size", "Items per batch, by stage.",
                                    {{"stage", settings_.consumer}}, kBatchBuckets)) {
  static constexpr std::pair<Handled, const char*> kOutcomes[] = {{Handled::Done, "done"},
                                                                  {Handled::Repeated, "repeated"},
                                                                  {Handled::Retried, "retried"},
                                                                  {Handled::Dead, "dead"}};
  for (const auto& [handled, name] : kOutcomes) {
    consumed_[handled] =
        &metrics.counter("penstock_consumed_total", "Deliveries handled, by consumer and outcome.",
                         {{"consumer", settings_.consumer}, {"outcome", name}});
  }
}

std::vector<Settlement> EventHandler::handle(std::span<const Delivery> deliveries) {
  batch_size_.observe(static_cast<double>(deliveries.size()));
  std::vector<Settlement> settlements(deliveries.size());
  std::vector<EventItem> items;
  std::vector<std::size_t> places;  // items[i] came from deliveries[places[i]]
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    if (auto item = read(deliveries[i])) {
      items.push_back(std::move(*item));
      places.push_back(i);
    } else {
      settlements[i] = settle({Handled::Dead, item.error().message, {}});
    }
  }
  if (items.empty()) return settlements;

  auto verdicts = work_(items);
  if (verdicts.size() != items.size()) {
    throw std::logic_error(settings_.consumer + ": answered " + std::to_string(verdicts.size()) +
                           " verdicts for " + std::to_string(items.size()) + " events");
  }
  for (std::size_t i = 0; i < items.size(); ++i) settlements[places[i]] = settle(std::move(verdicts[i]));
  return settlements;
}

Result<EventItem> EventHandler::read(const Delivery& delivery) const {
  auto event = decode(delivery.body);
  if (!event) return event.error();
  if (event->type != settings_.event_type) {
    return Error{ErrorCode::InvalidArgument,
                 "type: found " + event->type + ", allowed " + settings_.event_type + " in this queue"};
  }
  if (event->id != delivery.id) {
    return Error{ErrorCode::InvalidArgument, "eventId: found " + event->id.str() +
                                                 ", allowed only the message's own id " + delivery.id.str()};
  }
  return EventItem{std::move(*event), delivery.attempt};
}

Settlement EventHandler::settle(Verdict verdict) {
  consumed_.at(verdict.handled)->increment();
  switch (verdict.handled) {
    case Handled::Retried: return RetryLater{verdict.after, std::move(verdict.reason)};
    case Handled::Dead: return Dead{std::move(verdict.reason)};
    default: return Done{};
  }
}

}  // namespace penstock::orders
