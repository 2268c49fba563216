// EventHandler: a batch of deliveries on its way to one settlement each. The part that every consumer
// of order events shares: bodies are decoded strictly, bad ones are parked with their reason, the
// good ones go to the consumer's work in one call, and every outcome is counted.
//
// Thread-safe if the work is. Blocks for as long as the work takes.
#pragma once

#include "penstock/back_off.hpp"
#include "penstock/metrics.hpp"
#include "penstock/orders/events.hpp"
#include "penstock/result.hpp"
#include "penstock/transport.hpp"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace penstock::orders {

// One good delivery.
struct EventItem {
  OrderEvent event;
  std::uint32_t attempt = 1;
};

enum class Handled {
  Done,      // this delivery had its effect
  Repeated,  // an earlier one had: nothing changed
  Retried,   // not now
  Dead,      // never: someone must look
};

struct Verdict {
  Handled handled = Handled::Retried;
  std::string reason;     // Retried, Dead
  Milliseconds after{0};  // Retried
};

struct RetrySettings {
  BackOff back_off;
  // Deliveries of an event whose order the store does not know, before it is parked.
  std::uint32_t unknown_order_attempts = 5;
};

// What a consumer answers when its work did not come off. Thread-safe.
class RetryPolicy {
 public:
  RetryPolicy(RetrySettings settings, Random& random) : settings_(settings), random_(random) {}

  Verdict later(const EventItem& item, std::string reason) const;
  // Retryable errors and unknown outcomes are tried again (every consumer is idempotent); an error
  // that another try cannot mend parks the event.
  Verdict failed(const EventItem& item, const Error& error) const;
  // An event is committed with its order, so this is a replica that lags, or an event of another
  // installation.
  Verdict unknown_order(const EventItem& item) const;
  std::vector<Verdict> all_failed(std::span<const EventItem> items, const Error& error) const;

 private:
  const RetrySettings settings_;
  Random& random_;
};

struct EventHandlerSettings {
  std::string consumer;    // the `consumer` and `stage` labels of its metrics
  std::string event_type;  // the only type it takes
};

class EventHandler {
 public:
  // One verdict per item, in order.
  using Work = std::function<std::vector<Verdict>(std::span<const EventItem> items)>;

  EventHandler(EventHandlerSettings settings, Metrics& metrics, Work work);
  std::vector<Settlement> handle(std::span<const Delivery> deliveries);

 private:
  Result<EventItem> read(const Delivery& delivery) const;
  Settlement settle(Verdict verdict);

  const EventHandlerSettings settings_;
  const Work work_;
  Histogram& batch_size_;
  std::map<Handled, Counter*> consumed_;
};

}  // namespace penstock::orders
