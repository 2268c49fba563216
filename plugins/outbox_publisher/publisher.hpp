// Publisher: carries committed outbox rows to the transport, at least once.
//
// One step leases a bounded batch, publishes it outside any transaction and marks each row under the
// lease's token, so a process that slept longer than its lease cannot overwrite what another one did.
// A row that cannot be sent waits by itself, with back-off; its neighbours do not notice. While the
// transport takes nothing at all, a step tries a few rows only: an outage must not use up the attempts
// of the whole backlog.
//
// Not thread-safe: one Worker calls step().
#pragma once

#include "penstock/back_off.hpp"
#include "penstock/context.hpp"
#include "penstock/orders/order_store.hpp"
#include "penstock/transport.hpp"

#include <map>
#include <memory>

namespace penstock::outbox_publisher {

struct PublisherSettings {
  std::size_t max_batch = 500;
  Milliseconds poll{500};
  Milliseconds lease{30'000};
  Milliseconds publish_timeout{10'000};
  std::uint32_t max_attempts = 25;
  BackOff retry{Milliseconds(200), Milliseconds(60'000)};
  Milliseconds unknown_retry{500};
  std::uint32_t queue_max_attempts = 30;
};

class Publisher {
 public:
  Publisher(PublisherSettings settings, Context& context, orders::OrderStore& store, Transport& transport);

  // Effect: declares the queues if that is still to be done, then publishes and marks one batch. The
  // wait until the next step; an error when the step came to nothing.
  Result<Milliseconds> step();
  // Effect: declares the queues. Errors: Conflict when a queue exists with other settings.
  Result<void> declare();

 private:
  using Events = std::vector<orders::OutboxEvent>;
  using Answers = std::vector<PublishAnswer>;

  std::size_t batch_limit() const;
  Answers publish(const Events& events);
  std::vector<orders::OutboxMark> judge(const Events& events, const Answers& answers);
  orders::OutboxMark judge_one(const orders::OutboxEvent& event, const PublishAnswer& answer);
  Result<void> mark(const LeaseToken& token, const std::vector<orders::OutboxMark>& marks);
  void note_transport(const Answers& answers);
  Milliseconds next_wait(const Events& events, std::size_t limit,
                         const std::vector<orders::OutboxMark>& marks) const;

  const PublisherSettings settings_;
  Clock& clock_;
  Random& random_;
  Logger& logger_;
  orders::OrderStore& store_;
  Transport& transport_;
  const std::unique_ptr<HealthProbe> probe_;
  Histogram& batch_size_;
  Counter& late_marks_;
  std::map<PublishOutcome, Counter*> published_;

  bool declared_ = false;
  std::uint32_t fruitless_batches_ = 0;  // in a row, without one confirmed message
  LogLimit dead_rows_{std::chrono::seconds(5)};
  LogLimit late_rows_{std::chrono::seconds(5)};
  LogLimit outages_{std::chrono::seconds(10)};
};

}  // namespace penstock::outbox_publisher
