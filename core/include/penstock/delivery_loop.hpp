// DeliveryLoop: a Subscription over anything that can lease batches of messages: the part that all
// pull-based transports share. It calls the handler, turns what came back (or was thrown) into
// verdicts within the queue's bounds, and hands deliveries back when it is stopped.
//
// A batch whose handler fails as a whole says nothing about its messages one by one. So each of them
// is delivered alone from then on, and none is parked for a failure that it may not have caused: a
// message that brings its handler down is parked after its own attempts, without its neighbours.
#pragma once

#include "penstock/back_off.hpp"
#include "penstock/logger.hpp"
#include "penstock/transport.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace penstock {

enum class VerdictKind {
  Done,
  Retry,       // to be delivered again after a while
  RetryAlone,  // the same, but in no batch with others
  Dead,
};

// What becomes of one delivery.
struct Verdict {
  VerdictKind kind = VerdictKind::Done;
  Milliseconds after{0};  // Retry, RetryAlone
  std::string reason;     // empty for Done
};

struct LeasedBatch {
  LeaseToken token;
  std::vector<Delivery> deliveries;
  std::vector<std::int64_t> keys;  // the source's own name of each delivery
  // Of an empty batch: how long until a message may be due; none when no message waits at all.
  std::optional<Milliseconds> next_in;
};

struct SettledBatch {
  LeasedBatch batch;
  std::vector<Verdict> verdicts;  // one per delivery
};

// One queue of a transport, as the loop sees it. Thread-safe; exchange() may block for its storage.
class DeliverySource {
 public:
  virtual ~DeliverySource() = default;
  // Effect: settles `settled`, as far as its lease still stands, and leases up to `max_next` due
  // messages with their attempts counted; all in one step. An error leaves the settlement open: the
  // loop asks again.
  virtual Result<LeasedBatch> exchange(const std::optional<SettledBatch>& settled, std::size_t max_next) = 0;
  // Effect: what is still under this lease is due again at once, as if it had not been delivered.
  virtual Result<void> hand_back(const LeaseToken& token) = 0;
};

// Wakes those who wait for messages. A wake between seen() and wait() is not lost. Thread-safe.
class WakeUp {
 public:
  void wake();
  std::uint64_t seen() const;
  // Blocks until there was a wake since `seen`, or for `limit`.
  void wait(std::uint64_t seen, Milliseconds limit);

 private:
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  std::uint64_t count_ = 0;
};

struct DeliveryLoopSettings {
  std::string queue;  // for log lines
  std::size_t max_batch = 500;
  unsigned concurrency = 1;
  std::uint32_t max_attempts = 5;  // deliveries of one message before it is parked
  Milliseconds poll{250};          // looks for messages at least this often, woken or not
  BackOff back_off;                // between deliveries after a failed handler, and after a failed exchange
};

class DeliveryLoop : public Subscription {
 public:
  // Starts at once. `logger` and `random` must outlive it.
  DeliveryLoop(DeliveryLoopSettings settings, std::unique_ptr<DeliverySource> source,
               std::shared_ptr<WakeUp> wake_up, DeliveryHandler handler, Logger& logger, Random& random);
  ~DeliveryLoop() override;
  // Errors: Timeout when a handler still ran at the deadline; its deliveries were handed back.
  Result<void> stop(Deadline deadline) override;

 private:
  struct Slot {  // of one thread
    std::optional<LeaseToken> handling;
    bool handed_back = false;
    bool finished = false;
    std::thread thread;
  };

  void run(Slot& slot);
  void begin_stop();
  bool stopping() const;
  std::optional<SettledBatch> handle(Slot& slot, LeasedBatch batch);
  bool enter(Slot& slot, const LeaseToken& token);
  bool leave(Slot& slot);
  std::vector<Verdict> call_handler(std::span<const Delivery> deliveries);
  std::vector<Verdict> failed(std::span<const Delivery> deliveries, const std::string& reason);
  Verdict bounded(const Delivery& delivery, const Settlement& settlement) const;
  void report(const Error& error);
  void hand_back(const LeaseToken& token);

  const DeliveryLoopSettings settings_;
  const std::unique_ptr<DeliverySource> source_;
  const std::shared_ptr<WakeUp> wake_up_;
  const DeliveryHandler handler_;
  Logger& logger_;
  Random& random_;
  LogLimit source_failures_{std::chrono::seconds(5)};
  LogLimit handler_failures_{std::chrono::seconds(5)};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace penstock
