#include "penstock/testkit/transport_contract.hpp"

#include "penstock/testkit/wait_until.hpp"

#include <cppunit/TestAssert.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <latch>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace penstock::testkit {
namespace {

using namespace std::chrono_literals;
using Subject = TransportSubject;

const QueueName kQueue("work");
const std::string kKey = "job.made";

// Helpers -----------------------------------------------------------------------------------------

Deadline within(Milliseconds span) {
  return std::chrono::steady_clock::now() + span;
}

void declare(Transport& transport, std::uint32_t max_attempts = 5) {
  const auto declared = transport.declare({{{kQueue, {kKey}, max_attempts}}});
  CPPUNIT_ASSERT_MESSAGE(declared ? "" : declared.error().message, declared.ok());
}

Message message(const std::string& id, Milliseconds delay = 0ms) {
  return {EventId(id), kKey, "{\"id\":\"" + id + "\"}", "", delay};
}

std::vector<Message> messages(int count) {
  std::vector<Message> made;
  for (int i = 0; i < count; ++i) made.push_back(message("m-" + std::to_string(i)));
  return made;
}

void publish(Transport& transport, std::span<const Message> batch) {
  const auto answers = transport.publish(batch, within(10s));
  CPPUNIT_ASSERT_EQUAL(batch.size(), answers.size());
  for (const auto& answer : answers) {
    CPPUNIT_ASSERT_MESSAGE(answer.detail, answer.outcome == PublishOutcome::Confirmed);
  }
}

void publish(Transport& transport, const Message& one) {
  publish(transport, {&one, 1});
}

std::unique_ptr<Subscription> subscribe(Transport& transport, SubscribeOptions options,
                                        DeliveryHandler handler) {
  auto subscription = transport.subscribe(options, std::move(handler));
  CPPUNIT_ASSERT_MESSAGE(subscription ? "" : subscription.error().message, subscription.ok());
  return std::move(*subscription);
}

std::unique_ptr<Subscription> subscribe(Transport& transport, DeliveryHandler handler) {
  return subscribe(transport, {.queue = kQueue}, std::move(handler));
}

void stop(Subscription& subscription) {
  const auto stopped = subscription.stop(within(10s));
  CPPUNIT_ASSERT_MESSAGE(stopped ? "" : stopped.error().message, stopped.ok());
}

QueueDepth depth(Transport& transport) {
  const auto found = transport.depth(kQueue);
  CPPUNIT_ASSERT_MESSAGE(found ? "" : found.error().message, found.ok());
  return *found;
}

std::vector<DeadLetter> dead(Subject& subject) {
  const auto letters = subject.dead_letters().list(kQueue, 10'000);
  CPPUNIT_ASSERT(letters.ok());
  return *letters;
}

bool is_empty(const QueueDepth& depth) {
  return depth.ready + depth.delayed + depth.unacked + depth.dead == 0;
}

bool becomes_empty(Transport& transport) {
  return wait_until([&] { return is_empty(depth(transport)); });
}

// Remembers every delivery and settles it as `judge` says.
class Recorder {
 public:
  using Judge = std::function<Settlement(const Delivery&)>;
  explicit Recorder(Judge judge = [](const Delivery&) { return Done{}; }) : judge_(std::move(judge)) {}

  DeliveryHandler handler() {
    return [this](std::span<const Delivery> batch) {
      std::vector<Settlement> settlements;
      for (const auto& delivery : batch) settlements.push_back(judge_(delivery));
      const std::lock_guard lock(mutex_);
      largest_batch_ = std::max(largest_batch_, batch.size());
      for (const auto& delivery : batch) {
        deliveries_.push_back(delivery);
        times_.push_back(std::chrono::steady_clock::now());
      }
      return settlements;
    };
  }

  std::vector<Delivery> deliveries() const {
    const std::lock_guard lock(mutex_);
    return deliveries_;
  }
  std::size_t count() const { return deliveries().size(); }
  bool wait_for(std::size_t count, Milliseconds limit = 20s) const {
    return wait_until([&] { return deliveries().size() >= count; }, limit);
  }
  std::size_t distinct() const {
    std::set<EventId> ids;
    for (const auto& delivery : deliveries()) ids.insert(delivery.id);
    return ids.size();
  }
  std::size_t largest_batch() const {
    const std::lock_guard lock(mutex_);
    return largest_batch_;
  }
  Deadline time_of(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < deliveries_.size(); ++i) {
      if (deliveries_[i].id.str() == id) return times_[i];
    }
    return {};
  }

 private:
  const Judge judge_;
  mutable std::mutex mutex_;
  std::vector<Delivery> deliveries_;
  std::vector<Deadline> times_;
  std::size_t largest_batch_ = 0;
};

// A handler waits here until the test lets it go on.
class Door {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    opened_.wait(lock, [this] { return open_; });
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }
  bool wait_for_arrivals(int count) const {
    return wait_until([&] {
      const std::lock_guard lock(mutex_);
      return arrived_ >= count;
    });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable opened_;
  int arrived_ = 0;
  bool open_ = false;
};

// Opens the door when a test ends early, before its subscription waits for the handler behind the door.
class Opener {
 public:
  explicit Opener(Door& door) : door_(door) {}
  ~Opener() { door_.open(); }
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;

 private:
  Door& door_;
};

// Publishing and delivering -----------------------------------------------------------------------

void confirmed_message_is_delivered_and_then_forgotten(Subject& subject) {
  // Confirmed is a promise: what was said comes out as it went in, and is gone once it is done.
  auto& transport = subject.transport();
  declare(transport);
  const Message sent{EventId("m-1"), kKey, R"({"text":"h\u00e9, 'quoted' \"twice\" \\ ☃"})", "00-abc-def-01",
                     0ms};
  publish(transport, sent);
  Recorder recorder;
  const auto subscription = subscribe(transport, recorder.handler());
  CPPUNIT_ASSERT(recorder.wait_for(1));
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*subscription);
  const auto deliveries = recorder.deliveries();
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), deliveries.size());
  CPPUNIT_ASSERT(deliveries[0].id == sent.id);
  CPPUNIT_ASSERT_EQUAL(sent.routing_key, deliveries[0].routing_key);
  CPPUNIT_ASSERT_EQUAL(sent.body, deliveries[0].body);
  CPPUNIT_ASSERT_EQUAL(sent.trace, deliveries[0].trace);
  CPPUNIT_ASSERT_EQUAL(std::uint32_t(1), deliveries[0].attempt);
  CPPUNIT_ASSERT(deliveries[0].published_at > TimePoint{});
}

void waiting_subscription_is_woken_by_a_publish(Subject& subject) {
  // An idle system must answer the first order at once, not at the next poll.
  auto& transport = subject.transport();
  declare(transport);
  Recorder recorder;
  const auto subscription = subscribe(transport, recorder.handler());
  for (int i = 0; i < 5; ++i) {
    publish(transport, message("m-" + std::to_string(i)));
    CPPUNIT_ASSERT(recorder.wait_for(static_cast<std::size_t>(i) + 1));
  }
  stop(*subscription);
}

void many_messages_arrive_once_each_in_bounded_batches(Subject& subject) {
  // Without faults at least once is exactly once, and no batch exceeds what the handler asked for.
  auto& transport = subject.transport();
  declare(transport);
  publish(transport, messages(1'000));
  Recorder recorder;
  const auto subscription = subscribe(transport, {.queue = kQueue, .max_batch = 100}, recorder.handler());
  CPPUNIT_ASSERT(recorder.wait_for(1'000));
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*subscription);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1'000), recorder.count());
  CPPUNIT_ASSERT_EQUAL(std::size_t(1'000), recorder.distinct());
  CPPUNIT_ASSERT(recorder.largest_batch() <= 100);
}

void unbound_key_is_returned_and_stores_nothing(Subject& subject) {
  // A missing binding must be noticed by the sender: a message that nobody gets is a lost order.
  auto& transport = subject.transport();
  declare(transport);
  std::vector<Message> batch{message("m-1"), message("m-2"), message("m-3")};
  batch[1].routing_key = "nobody.listens";
  const auto answers = transport.publish(batch, within(10s));
  CPPUNIT_ASSERT_EQUAL(std::size_t(3), answers.size());
  CPPUNIT_ASSERT(answers[0].outcome == PublishOutcome::Confirmed);
  CPPUNIT_ASSERT(answers[1].outcome == PublishOutcome::Returned);
  CPPUNIT_ASSERT(answers[1].detail.find("nobody.listens") != std::string::npos);
  CPPUNIT_ASSERT(answers[2].outcome == PublishOutcome::Confirmed);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), depth(transport).ready);
  CPPUNIT_ASSERT(transport.publish({}, within(1s)).empty());
}

void message_goes_to_every_bound_queue(Subject& subject) {
  // Two stages that both need an event must not take it from each other.
  auto& transport = subject.transport();
  declare(transport);
  CPPUNIT_ASSERT(transport.declare({{{QueueName("audit"), {kKey, "other"}, 5}}}).ok());
  publish(transport, message("m-1"));
  Recorder work, audit;
  const auto first = subscribe(transport, work.handler());
  const auto second = subscribe(transport, {.queue = QueueName("audit")}, audit.handler());
  CPPUNIT_ASSERT(work.wait_for(1) && audit.wait_for(1));
  stop(*first);
  stop(*second);
}

void one_bad_message_among_many_stops_nobody(Subject& subject) {
  // 999 buyers must not wait for the one whose message can never be sent.
  auto& transport = subject.transport();
  declare(transport);
  auto batch = messages(1'000);
  batch[500].body = "{\"broken\":\"\xC3\x28\"}";
  const auto answers = transport.publish(batch, within(10s));
  CPPUNIT_ASSERT_EQUAL(std::size_t(1'000), answers.size());
  CPPUNIT_ASSERT(answers[500].outcome != PublishOutcome::Confirmed);
  CPPUNIT_ASSERT(!answers[500].detail.empty());
  Recorder recorder;
  const auto subscription = subscribe(transport, recorder.handler());
  CPPUNIT_ASSERT(recorder.wait_for(999));
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*subscription);
  CPPUNIT_ASSERT_EQUAL(std::size_t(999), recorder.distinct());
}

void unstorable_messages_are_refused_with_a_reason(Subject& subject) {
  // What cannot be stored faithfully must be said, not cut or guessed.
  auto& transport = subject.transport();
  declare(transport);
  std::vector<Message> batch(8, message("bad"));
  batch[0].body = std::string(10 << 20, 'x');
  batch[1].body = "\xED\xA0\x80";  // a surrogate
  batch[2].body = "\xC0\xAF";      // an overlong form
  batch[3].body = std::string("{\0}", 3);
  batch[4].body = "cut \xE2\x98";  // ends inside a character
  batch[5].id = EventId("");
  batch[6].id = EventId(std::string(1'000, 'i'));
  batch[7].delay = Milliseconds::max();
  batch.push_back(message("good"));
  const auto answers = transport.publish(batch, within(10s));
  for (std::size_t i = 0; i < 8; ++i) {
    CPPUNIT_ASSERT_MESSAGE(std::to_string(i), answers[i].outcome == PublishOutcome::Refused);
    CPPUNIT_ASSERT(!answers[i].detail.empty());
  }
  CPPUNIT_ASSERT(answers[8].outcome == PublishOutcome::Confirmed);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), depth(transport).ready);
}

void subscribers_of_one_queue_share_it(Subject& subject) {
  // Two consumers double the speed, not the deliveries.
  auto& transport = subject.transport();
  declare(transport);
  Recorder first, second;
  const SubscribeOptions options{.queue = kQueue, .max_batch = 20, .concurrency = 2};
  const auto one = subscribe(transport, options, first.handler());
  const auto two = subscribe(transport, options, second.handler());
  publish(transport, messages(1'000));
  CPPUNIT_ASSERT(wait_until([&] { return first.count() + second.count() >= 1'000; }, 20s));
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*one);
  stop(*two);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1'000), first.count() + second.count());
  CPPUNIT_ASSERT_EQUAL(std::size_t(1'000), first.distinct() + second.distinct());
}

void handler_calls_run_at_the_same_time_as_asked(Subject& subject) {
  // A slow call must not hold up the others when concurrency was asked for.
  auto& transport = subject.transport();
  declare(transport);
  publish(transport, messages(3));
  Door door;
  Recorder recorder([&](const Delivery&) {
    door.pass();
    return Done{};
  });
  const auto subscription =
      subscribe(transport, {.queue = kQueue, .max_batch = 1, .concurrency = 3}, recorder.handler());
  const Opener opener(door);
  CPPUNIT_ASSERT(door.wait_for_arrivals(3));
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), depth(transport).unacked);
  door.open();
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*subscription);
}

// Delays and retries ------------------------------------------------------------------------------

void mixed_delays_are_each_due_at_their_own_time(Subject& subject) {
  // A short delay behind a long one at the queue's head must not wait for it.
  auto& transport = subject.transport();
  if (!transport.traits().delays) return;
  declare(transport);
  Recorder recorder;
  const auto subscription = subscribe(transport, recorder.handler());
  const std::map<std::string, Milliseconds> delays{{"long", 1'200ms}, {"short", 150ms}, {"middle", 600ms}};
  const auto start = std::chrono::steady_clock::now();
  for (const auto* name : {"long", "short", "middle"}) publish(transport, message(name, delays.at(name)));
  CPPUNIT_ASSERT(recorder.wait_for(3));
  stop(*subscription);
  for (const auto& [name, delay] : delays) {
    const auto late = recorder.time_of(name) - start - delay;
    CPPUNIT_ASSERT_MESSAGE(name + " came early", late >= -5ms);  // the storage counts in milliseconds
    CPPUNIT_ASSERT_MESSAGE(name + " came late", late <= 1s);
  }
}

void retry_waits_for_its_time_and_counts_attempts(Subject& subject) {
  // A message that is not due yet must come back when it is, neither at once nor never.
  auto& transport = subject.transport();
  declare(transport);
  Recorder recorder([](const Delivery& delivery) -> Settlement {
    if (delivery.attempt == 1) return RetryLater{300ms, "not due"};
    return Done{};
  });
  const auto subscription = subscribe(transport, recorder.handler());
  const auto start = std::chrono::steady_clock::now();
  publish(transport, message("m-1"));
  CPPUNIT_ASSERT(recorder.wait_for(1));
  CPPUNIT_ASSERT(wait_until([&] { return depth(transport).delayed == 1; }) || recorder.count() == 2);
  CPPUNIT_ASSERT(recorder.wait_for(2));
  CPPUNIT_ASSERT(std::chrono::steady_clock::now() - start >= 295ms);
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*subscription);
  CPPUNIT_ASSERT_EQUAL(std::uint32_t(2), recorder.deliveries()[1].attempt);
}

void message_retried_five_times_arrives_five_times_more(Subject& subject) {
  // Some engines drop the second trip through the same delay as a cycle.
  auto& transport = subject.transport();
  declare(transport, 10);
  Recorder recorder([](const Delivery& delivery) -> Settlement {
    if (delivery.attempt <= 5) return RetryLater{10ms, "again"};
    return Done{};
  });
  publish(transport, message("m-1"));
  const auto subscription = subscribe(transport, recorder.handler());
  CPPUNIT_ASSERT(recorder.wait_for(6));
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*subscription);
  const auto deliveries = recorder.deliveries();
  CPPUNIT_ASSERT_EQUAL(std::size_t(6), deliveries.size());
  for (std::uint32_t i = 0; i < 6; ++i) CPPUNIT_ASSERT_EQUAL(i + 1, deliveries[i].attempt);
}

void message_is_parked_after_its_last_attempt(Subject& subject) {
  // An endless retry would eat the queue; parked, it waits for a person with its reason.
  auto& transport = subject.transport();
  declare(transport, 3);
  publish(transport, message("m-1"));
  Recorder recorder([](const Delivery&) { return RetryLater{5ms, "no luck"}; });
  const auto subscription = subscribe(transport, recorder.handler());
  CPPUNIT_ASSERT(wait_until([&] { return depth(transport).dead == 1; }));
  stop(*subscription);
  CPPUNIT_ASSERT_EQUAL(std::size_t(3), recorder.count());
  const auto letters = dead(subject);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), letters.size());
  CPPUNIT_ASSERT_EQUAL(std::string("m-1"), letters[0].id.str());
  CPPUNIT_ASSERT_EQUAL(std::uint32_t(3), letters[0].attempts);
  CPPUNIT_ASSERT_MESSAGE(letters[0].reason, letters[0].reason.find("no luck") != std::string::npos);
}

void handler_that_throws_is_tried_again_and_then_parked(Subject& subject) {
  // A defect in a handler must neither lose the message nor spin on it.
  auto& transport = subject.transport();
  declare(transport, 3);
  publish(transport, message("m-1"));
  std::atomic<int> calls{0};
  const auto subscription = subscribe(transport, [&](std::span<const Delivery>) -> std::vector<Settlement> {
    ++calls;
    throw std::runtime_error("cannot digest this");
  });
  CPPUNIT_ASSERT(wait_until([&] { return depth(transport).dead == 1; }));
  stop(*subscription);
  CPPUNIT_ASSERT_EQUAL(3, calls.load());
  const auto reason = dead(subject)[0].reason;
  CPPUNIT_ASSERT_MESSAGE(reason, reason.find("cannot digest this") != std::string::npos);
}

void wrong_number_of_settlements_settles_nothing(Subject& subject) {
  // Which settlement belongs to which delivery cannot be known, so all come again.
  auto& transport = subject.transport();
  declare(transport);
  publish(transport, messages(3));
  std::atomic<bool> first{true};
  Recorder recorder;
  const auto good = recorder.handler();
  const auto subscription = subscribe(transport, [&](std::span<const Delivery> batch) {
    if (first.exchange(false)) return std::vector<Settlement>(batch.size() + 1, Dead{"miscounted"});
    return good(batch);
  });
  CPPUNIT_ASSERT(recorder.wait_for(3));
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*subscription);
  CPPUNIT_ASSERT_EQUAL(std::size_t(3), recorder.distinct());
}

void message_that_fails_its_batch_is_parked_alone(Subject& subject) {
  // Nine innocent messages in one batch with a poisonous one must all get through.
  auto& transport = subject.transport();
  declare(transport, 2);
  publish(transport, messages(10));
  Recorder recorder;
  const auto good = recorder.handler();
  const auto subscription = subscribe(transport, [&](std::span<const Delivery> batch) {
    for (const auto& delivery : batch) {
      if (delivery.id.str() == "m-4") throw std::runtime_error("poison");
    }
    return good(batch);
  });
  CPPUNIT_ASSERT(recorder.wait_for(9));
  CPPUNIT_ASSERT(wait_until([&] { return depth(transport).dead == 1; }));
  stop(*subscription);
  CPPUNIT_ASSERT_EQUAL(std::size_t(9), recorder.distinct());
  CPPUNIT_ASSERT_EQUAL(std::string("m-4"), dead(subject)[0].id.str());
}

void absurd_settlements_harm_nobody(Subject& subject) {
  // A handler quotes what it was sent and computes its delays; neither may spoil its neighbours' settling.
  auto& transport = subject.transport();
  declare(transport);
  publish(transport, messages(4));
  Recorder recorder([](const Delivery& delivery) -> Settlement {
    const auto& id = delivery.id.str();
    if (id == "m-0") return RetryLater{Milliseconds::max(), "never"};
    if (id == "m-1") return Dead{std::string("bytes \xFF and \0 and ", 18) + std::string(100'000, 'x')};
    if (id == "m-2" && delivery.attempt == 1) return RetryLater{Milliseconds::min(), "long ago"};
    return Done{};
  });
  const auto subscription = subscribe(transport, recorder.handler());
  CPPUNIT_ASSERT(recorder.wait_for(5));
  CPPUNIT_ASSERT(wait_until([&] {
    const auto left = depth(transport);
    return left.delayed == 1 && left.dead == 1 && left.ready + left.unacked == 0;
  }));
  stop(*subscription);
  const auto reason = dead(subject)[0].reason;
  CPPUNIT_ASSERT(reason.starts_with("bytes ? and ? and "));
  CPPUNIT_ASSERT(reason.size() < 2'000);
}

// Dead letters ------------------------------------------------------------------------------------

// Publishes and parks the given ids, in this order.
void park(Subject& subject, const std::vector<std::string>& ids) {
  auto& transport = subject.transport();
  Recorder recorder([](const Delivery&) { return Dead{"not wanted"}; });
  const auto subscription = subscribe(transport, recorder.handler());
  const auto before = depth(transport).dead;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    publish(transport, message(ids[i]));
    CPPUNIT_ASSERT(wait_until([&] { return depth(transport).dead == before + i + 1; }));
  }
  stop(*subscription);
}

void dead_message_is_listed_with_its_reason(Subject& subject) {
  // The person on call decides from this list, so it must say what, why and when.
  declare(subject.transport());
  park(subject, {"m-1", "m-2", "m-3"});
  const auto letters = dead(subject);
  CPPUNIT_ASSERT_EQUAL(std::size_t(3), letters.size());
  CPPUNIT_ASSERT_EQUAL(std::string("m-1"), letters[0].id.str());
  CPPUNIT_ASSERT_EQUAL(std::string("m-3"), letters[2].id.str());
  CPPUNIT_ASSERT(letters[0].queue == kQueue);
  CPPUNIT_ASSERT_EQUAL(kKey, letters[0].routing_key);
  CPPUNIT_ASSERT_EQUAL(message("m-1").body, letters[0].body);
  CPPUNIT_ASSERT_EQUAL(std::string("not wanted"), letters[0].reason);
  CPPUNIT_ASSERT_EQUAL(std::uint32_t(1), letters[0].attempts);
  CPPUNIT_ASSERT(letters[0].parked_at > TimePoint{});
  CPPUNIT_ASSERT_EQUAL(std::size_t(2), subject.dead_letters().list(kQueue, 2)->size());
}

void replayed_message_is_delivered_as_if_new(Subject& subject) {
  // After the fault is mended the message gets all its attempts again.
  auto& transport = subject.transport();
  declare(transport, 1);
  park(subject, {"m-1"});
  CPPUNIT_ASSERT(*subject.dead_letters().replay(kQueue, EventId("m-1")) == ReplayOutcome::Replayed);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), depth(transport).dead);
  Recorder recorder;
  const auto subscription = subscribe(transport, recorder.handler());
  CPPUNIT_ASSERT(recorder.wait_for(1));
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*subscription);
  CPPUNIT_ASSERT_EQUAL(std::uint32_t(1), recorder.deliveries()[0].attempt);
}

void replay_by_double_click_replays_once(Subject& subject) {
  // Two clicks are one wish: one effect, and the second is told so.
  auto& transport = subject.transport();
  declare(transport);
  park(subject, {"m-1"});
  std::atomic<int> replayed{0}, not_dead{0};
  std::latch start(4);
  std::vector<std::thread> clicks;
  for (int i = 0; i < 4; ++i) {
    clicks.emplace_back([&] {
      start.arrive_and_wait();
      const auto outcome = subject.dead_letters().replay(kQueue, EventId("m-1"));
      if (outcome.ok()) ++(*outcome == ReplayOutcome::Replayed ? replayed : not_dead);
    });
  }
  for (auto& click : clicks) click.join();
  CPPUNIT_ASSERT_EQUAL(1, replayed.load());
  CPPUNIT_ASSERT_EQUAL(3, not_dead.load());
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), depth(transport).ready);
}

void message_handled_meanwhile_cannot_be_replayed(Subject& subject) {
  // A list on a screen is old: what was settled since must not come back.
  auto& transport = subject.transport();
  declare(transport);
  park(subject, {"m-1"});
  auto& letters = subject.dead_letters();
  CPPUNIT_ASSERT(*letters.replay(kQueue, EventId("m-1")) == ReplayOutcome::Replayed);
  Recorder recorder;
  const auto subscription = subscribe(transport, recorder.handler());
  CPPUNIT_ASSERT(recorder.wait_for(1));
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*subscription);
  CPPUNIT_ASSERT(*letters.replay(kQueue, EventId("m-1")) == ReplayOutcome::NotDead);
  CPPUNIT_ASSERT(*letters.replay(kQueue, EventId("never-was")) == ReplayOutcome::NotDead);
  CPPUNIT_ASSERT(is_empty(depth(transport)));
}

void dropped_message_is_gone_for_good(Subject& subject) {
  // Dropping is the one way to lose a message, so it must be sure, once, and only for parked ones.
  auto& transport = subject.transport();
  declare(transport);
  park(subject, {"m-1", "m-2"});
  publish(transport, message("waiting"));
  auto& letters = subject.dead_letters();
  CPPUNIT_ASSERT(*letters.drop(kQueue, EventId("m-1")));
  CPPUNIT_ASSERT(!*letters.drop(kQueue, EventId("m-1")));
  CPPUNIT_ASSERT(!*letters.drop(kQueue, EventId("waiting")));
  CPPUNIT_ASSERT(*letters.replay(kQueue, EventId("m-1")) == ReplayOutcome::NotDead);
  CPPUNIT_ASSERT_EQUAL(std::size_t(1), dead(subject).size());
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), depth(transport).ready);
}

// Leases and shutdown -----------------------------------------------------------------------------

void lease_that_runs_out_gives_the_message_to_somebody_else(Subject& subject) {
  // A stopped process must not keep an order for ever, and its late word must change nothing.
  auto& transport = subject.transport();
  declare(transport);
  publish(transport, message("m-1"));
  Door slow_door, fast_door;
  Recorder slow([&](const Delivery&) {
    slow_door.pass();
    return Dead{"late"};
  });
  Recorder fast([&](const Delivery&) {
    fast_door.pass();
    return Done{};
  });
  const auto first = subscribe(transport, {.queue = kQueue, .lease = 200ms}, slow.handler());
  const Opener slow_opener(slow_door);
  CPPUNIT_ASSERT(slow_door.wait_for_arrivals(1));
  const auto second = subscribe(transport, {.queue = kQueue}, fast.handler());
  const Opener fast_opener(fast_door);
  CPPUNIT_ASSERT(fast_door.wait_for_arrivals(1));
  slow_door.open();
  stop(*first);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), depth(transport).dead);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), depth(transport).unacked);
  fast_door.open();
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*second);
  CPPUNIT_ASSERT_EQUAL(std::uint32_t(2), fast.deliveries()[0].attempt);
}

void stop_settles_or_hands_back_what_is_in_flight(Subject& subject) {
  // A shutdown is nobody's failure: every message is done or waits, none is parked, none was counted.
  auto& transport = subject.transport();
  declare(transport, 1);
  publish(transport, messages(50));
  Door door;
  Recorder recorder([&](const Delivery&) {
    door.pass();
    return Done{};
  });
  const auto subscription =
      subscribe(transport, {.queue = kQueue, .max_batch = 10, .concurrency = 2}, recorder.handler());
  const Opener opener(door);
  CPPUNIT_ASSERT(door.wait_for_arrivals(2));
  std::thread stopper([&] { static_cast<void>(subscription->stop(within(10s))); });
  door.open();
  stopper.join();
  const auto handled = recorder.count();
  const auto left = depth(transport);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), left.dead);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), left.unacked);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(50 - handled), left.ready);

  Recorder rest;
  const auto next = subscribe(transport, rest.handler());
  CPPUNIT_ASSERT(rest.wait_for(50 - handled));
  CPPUNIT_ASSERT(becomes_empty(transport));
  stop(*next);
  CPPUNIT_ASSERT_EQUAL(50 - handled, rest.count());
  for (const auto& delivery : rest.deliveries()) CPPUNIT_ASSERT_EQUAL(std::uint32_t(1), delivery.attempt);
}

void stop_does_not_wait_for_a_hung_handler_beyond_its_deadline(Subject& subject) {
  // The process must end in time; what the hung call held is somebody else's at once.
  auto& transport = subject.transport();
  declare(transport, 1);
  publish(transport, messages(3));
  Door door;
  Recorder hung([&](const Delivery&) {
    door.pass();
    return Dead{"late"};
  });
  const auto subscription = subscribe(transport, hung.handler());
  const Opener opener(door);
  CPPUNIT_ASSERT(door.wait_for_arrivals(1));
  const auto stopped = subscription->stop(within(50ms));
  CPPUNIT_ASSERT(!stopped && stopped.error().code == ErrorCode::Timeout);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), depth(transport).ready);
  Recorder next;
  const auto other = subscribe(transport, next.handler());
  CPPUNIT_ASSERT(next.wait_for(3));
  CPPUNIT_ASSERT(becomes_empty(transport));
  door.open();
  CPPUNIT_ASSERT(wait_until([&] { return hung.count() == 3; }));
  stop(*subscription);
  stop(*other);
  CPPUNIT_ASSERT(is_empty(depth(transport)));
  CPPUNIT_ASSERT_EQUAL(std::size_t(3), next.count());
}

void stopped_subscription_calls_nobody(Subject& subject) {
  // After stop() the handler's owner may be gone.
  auto& transport = subject.transport();
  declare(transport);
  Recorder stopped, running;
  const auto first = subscribe(transport, stopped.handler());
  stop(*first);
  stop(*first);
  publish(transport, messages(20));
  const auto second = subscribe(transport, running.handler());
  CPPUNIT_ASSERT(running.wait_for(20));
  stop(*second);
  CPPUNIT_ASSERT_EQUAL(std::size_t(0), stopped.count());
}

// Declaring and looking ---------------------------------------------------------------------------

void declaring_again_changes_nothing_and_adds_what_is_missing(Subject& subject) {
  // Every process declares at its start.
  auto& transport = subject.transport();
  declare(transport);
  publish(transport, message("m-1"));
  declare(transport);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), depth(transport).ready);
  CPPUNIT_ASSERT(transport.declare({{{kQueue, {kKey, "job.late"}, 5}}}).ok());
  auto late = message("m-2");
  late.routing_key = "job.late";
  publish(transport, late);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), depth(transport).ready);
}

void declaring_otherwise_names_queue_setting_and_both_values(Subject& subject) {
  // Two programs that disagree about a queue must find out at start, with all they need to know.
  auto& transport = subject.transport();
  declare(transport, 5);
  const auto refused = transport.declare({{{QueueName("new"), {"key"}, 5}, {kQueue, {kKey}, 7}}});
  CPPUNIT_ASSERT(!refused && refused.error().code == ErrorCode::Conflict);
  for (const auto* part : {"work", "max_attempts", "5", "7"}) {
    CPPUNIT_ASSERT_MESSAGE(refused.error().message, refused.error().message.find(part) != std::string::npos);
  }
  CPPUNIT_ASSERT_MESSAGE("a refused topology was created in part",
                         transport.depth(QueueName("new")).error().code == ErrorCode::NotFound);
  const auto unbound = transport.declare({{{kQueue, {"another.key"}, 5}}});
  CPPUNIT_ASSERT(!unbound && unbound.error().code == ErrorCode::Conflict);
  CPPUNIT_ASSERT(unbound.error().message.find(kKey) != std::string::npos);
}

void impossible_queues_are_refused(Subject& subject) {
  // A queue that parks everything at once, or has no name, is a mistake of its author.
  auto& transport = subject.transport();
  CPPUNIT_ASSERT(transport.declare({{{QueueName(""), {kKey}, 5}}}).error().code ==
                 ErrorCode::InvalidArgument);
  CPPUNIT_ASSERT(transport.declare({{{kQueue, {kKey}, 0}}}).error().code == ErrorCode::InvalidArgument);
  CPPUNIT_ASSERT(transport.declare({{{kQueue, {""}, 5}}}).error().code == ErrorCode::InvalidArgument);
  CPPUNIT_ASSERT(transport.declare({{{kQueue, {kKey}, 5}, {kQueue, {kKey}, 5}}}).error().code ==
                 ErrorCode::InvalidArgument);
}

void undeclared_queue_is_not_found(Subject& subject) {
  // A misspelt name must not look like an empty queue.
  const QueueName unknown("unknown");
  auto& letters = subject.dead_letters();
  CPPUNIT_ASSERT(subject.transport().depth(unknown).error().code == ErrorCode::NotFound);
  CPPUNIT_ASSERT(letters.list(unknown, 1).error().code == ErrorCode::NotFound);
  CPPUNIT_ASSERT(letters.replay(unknown, EventId("m")).error().code == ErrorCode::NotFound);
  CPPUNIT_ASSERT(letters.drop(unknown, EventId("m")).error().code == ErrorCode::NotFound);
  const auto subscription = subject.transport().subscribe(
      {.queue = unknown}, [](std::span<const Delivery>) { return std::vector<Settlement>{}; });
  CPPUNIT_ASSERT(subscription.error().code == ErrorCode::NotFound);
}

void depth_tells_the_states_apart(Subject& subject) {
  // The backlog limit and the alerts stand on these figures.
  auto& transport = subject.transport();
  declare(transport);
  CPPUNIT_ASSERT(is_empty(depth(transport)));
  CPPUNIT_ASSERT_EQUAL(Milliseconds::rep(0), depth(transport).oldest.count());
  park(subject, {"dead"});
  Door door;
  Recorder recorder([&](const Delivery&) {
    door.pass();
    return Done{};
  });
  const auto subscription = subscribe(transport, {.queue = kQueue, .max_batch = 1}, recorder.handler());
  const Opener opener(door);
  publish(transport, message("unacked"));
  CPPUNIT_ASSERT(door.wait_for_arrivals(1));
  publish(transport, messages(3));
  if (transport.traits().delays) publish(transport, message("delayed", 1h));
  const auto found = depth(transport);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), found.unacked);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), found.ready);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(transport.traits().delays ? 1 : 0), found.delayed);
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), found.dead);
  CPPUNIT_ASSERT(wait_until([&] { return depth(transport).oldest >= 20ms; }));
  door.open();
  stop(*subscription);
}

// Across processes --------------------------------------------------------------------------------

void everything_confirmed_survives_a_restart(Subject& subject) {
  // Confirmed means durable: ready, delayed and parked messages are all there afterwards.
  if (!subject.transport().traits().survives_restart) return;
  declare(subject.transport());
  park(subject, {"dead"});
  publish(subject.transport(), messages(5));
  publish(subject.transport(), message("delayed", 400ms));
  subject.restart();
  declare(subject.transport());
  CPPUNIT_ASSERT_EQUAL(std::uint64_t(5), depth(subject.transport()).ready);
  CPPUNIT_ASSERT_EQUAL(std::string("not wanted"), dead(subject)[0].reason);
  Recorder recorder;
  const auto subscription = subscribe(subject.transport(), recorder.handler());
  CPPUNIT_ASSERT(recorder.wait_for(6));
  stop(*subscription);
}

void messages_reach_other_processes(Subject& subject) {
  // Publisher and consumer may run on their own; nobody can wake a thread of another process.
  if (!subject.transport().traits().delivers_across_processes) return;
  declare(subject.transport());
  Recorder recorder;
  const auto subscription = subscribe(subject.transport(), recorder.handler());
  publish(subject.other_process(), message("ready"));
  publish(subject.other_process(), message("delayed", 100ms));
  CPPUNIT_ASSERT(recorder.wait_for(2));
  stop(*subscription);
}

void processes_share_a_queue_without_double_delivery(Subject& subject) {
  // Scaling out must not deliver anything twice.
  if (!subject.transport().traits().delivers_across_processes) return;
  declare(subject.transport());
  Recorder here, there;
  const SubscribeOptions options{.queue = kQueue, .max_batch = 20, .concurrency = 2};
  const auto one = subscribe(subject.transport(), options, here.handler());
  const auto two = subscribe(subject.other_process(), options, there.handler());
  publish(subject.transport(), messages(500));
  CPPUNIT_ASSERT(wait_until([&] { return here.count() + there.count() >= 500; }, 20s));
  CPPUNIT_ASSERT(becomes_empty(subject.transport()));
  stop(*one);
  stop(*two);
  CPPUNIT_ASSERT_EQUAL(std::size_t(500), here.count() + there.count());
  CPPUNIT_ASSERT_EQUAL(std::size_t(500), here.distinct() + there.distinct());
}

#define PENSTOCK_CONTRACT(test) \
  { #test, test }
constexpr ContractTest<Subject> kTests[] = {
    PENSTOCK_CONTRACT(confirmed_message_is_delivered_and_then_forgotten),
    PENSTOCK_CONTRACT(waiting_subscription_is_woken_by_a_publish),
    PENSTOCK_CONTRACT(many_messages_arrive_once_each_in_bounded_batches),
    PENSTOCK_CONTRACT(unbound_key_is_returned_and_stores_nothing),
    PENSTOCK_CONTRACT(message_goes_to_every_bound_queue),
    PENSTOCK_CONTRACT(one_bad_message_among_many_stops_nobody),
    PENSTOCK_CONTRACT(unstorable_messages_are_refused_with_a_reason),
    PENSTOCK_CONTRACT(subscribers_of_one_queue_share_it),
    PENSTOCK_CONTRACT(handler_calls_run_at_the_same_time_as_asked),
    PENSTOCK_CONTRACT(mixed_delays_are_each_due_at_their_own_time),
    PENSTOCK_CONTRACT(retry_waits_for_its_time_and_counts_attempts),
    PENSTOCK_CONTRACT(message_retried_five_times_arrives_five_times_more),
    PENSTOCK_CONTRACT(message_is_parked_after_its_last_attempt),
    PENSTOCK_CONTRACT(handler_that_throws_is_tried_again_and_then_parked),
    PENSTOCK_CONTRACT(wrong_number_of_settlements_settles_nothing),
    PENSTOCK_CONTRACT(message_that_fails_its_batch_is_parked_alone),
    PENSTOCK_CONTRACT(absurd_settlements_harm_nobody),
    PENSTOCK_CONTRACT(dead_message_is_listed_with_its_reason),
    PENSTOCK_CONTRACT(replayed_message_is_delivered_as_if_new),
    PENSTOCK_CONTRACT(replay_by_double_click_replays_once),
    PENSTOCK_CONTRACT(message_handled_meanwhile_cannot_be_replayed),
    PENSTOCK_CONTRACT(dropped_message_is_gone_for_good),
    PENSTOCK_CONTRACT(lease_that_runs_out_gives_the_message_to_somebody_else),
    PENSTOCK_CONTRACT(stop_settles_or_hands_back_what_is_in_flight),
    PENSTOCK_CONTRACT(stop_does_not_wait_for_a_hung_handler_beyond_its_deadline),
    PENSTOCK_CONTRACT(stopped_subscription_calls_nobody),
    PENSTOCK_CONTRACT(declaring_again_changes_nothing_and_adds_what_is_missing),
    PENSTOCK_CONTRACT(declaring_otherwise_names_queue_setting_and_both_values),
    PENSTOCK_CONTRACT(impossible_queues_are_refused),
    PENSTOCK_CONTRACT(undeclared_queue_is_not_found),
    PENSTOCK_CONTRACT(depth_tells_the_states_apart),
    PENSTOCK_CONTRACT(everything_confirmed_survives_a_restart),
    PENSTOCK_CONTRACT(messages_reach_other_processes),
    PENSTOCK_CONTRACT(processes_share_a_queue_without_double_delivery),
};
#undef PENSTOCK_CONTRACT

}  // namespace

TransportContract::TransportContract(std::string adapter, Make make)
    : ContractSuite(std::move(adapter), std::move(make), kTests) {}

}  // namespace penstock::testkit
