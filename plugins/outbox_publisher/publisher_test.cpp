#include "outbox_publisher/publisher.hpp"

#include "penstock/fail_point.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/fake_order_store.hpp"
#include "penstock/testkit/fake_transport.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cstdlib>
#include <deque>

namespace {

using namespace penstock;
using namespace penstock::orders;
using outbox_publisher::Publisher;
using outbox_publisher::PublisherSettings;

// The rows of an outbox that are due, and what became of the others.
struct Outbox {
  std::deque<OutboxEvent> due;
  std::map<EventId, OutboxMark> marks;

  void add(int rows) {
    for (int i = 0; i < rows; ++i)
      due.push_back({EventId("e" + std::to_string(next++)), "order.created", {}, "{}", "", 0, {}});
  }
  OutboxLease lease(std::size_t max) {
    OutboxLease lease{LeaseToken("t"), {}};
    while (!due.empty() && lease.events.size() < max) {
      lease.events.push_back(due.front());
      due.pop_front();
    }
    return lease;
  }
  std::vector<MarkOutcome> mark(std::span<const OutboxMark> batch) {
    for (const auto& one : batch) marks[one.id] = one;
    return std::vector<MarkOutcome>(batch.size(), MarkOutcome::Marked);
  }
  long count(OutboxVerdict verdict) const {
    return std::count_if(marks.begin(), marks.end(),
                         [&](const auto& mark) { return mark.second.verdict == verdict; });
  }
  int next = 0;
};

class PublisherTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PublisherTest);
  CPPUNIT_TEST(confirmed_rows_are_sent_with_their_evidence);
  CPPUNIT_TEST(the_remaining_delay_travels_with_the_message);
  CPPUNIT_TEST(nothing_due_waits_for_the_poll);
  CPPUNIT_TEST(a_full_batch_is_followed_at_once);
  CPPUNIT_TEST(one_unsendable_row_does_not_slow_the_others);
  CPPUNIT_TEST(an_unsendable_row_backs_off_and_ends_dead_with_its_reason);
  CPPUNIT_TEST(an_unconfirmed_row_is_never_given_up);
  CPPUNIT_TEST(an_outage_is_probed_with_few_rows_and_growing_waits);
  CPPUNIT_TEST(queues_are_declared_again_after_a_message_was_returned);
  CPPUNIT_TEST(nothing_is_leased_before_the_queues_are_declared);
  CPPUNIT_TEST(late_marks_are_counted);
  CPPUNIT_TEST(marking_is_tried_again_once);
  CPPUNIT_TEST(a_failure_after_publishing_marks_nothing);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeContext context_;
  testkit::FakeOrderStore store_;
  testkit::FakeTransport transport_;
  Outbox outbox_;
  PublisherSettings settings_;

  Publisher publisher() { return {settings_, context_, store_, transport_}; }

  double outcomes(const std::string& outcome) {
    return context_.metrics().value("penstock_outbox_publishes_total{outcome=\"" + outcome + "\"}");
  }

 public:
  void setUp() override {
    store_.on_lease = [this](std::size_t max) { return outbox_.lease(max); };
    store_.on_mark = [this](const LeaseToken&, std::span<const OutboxMark> marks) {
      return outbox_.mark(marks);
    };
  }

  void tearDown() override {
    unsetenv("PENSTOCK_FAILPOINTS");
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
  }

  void confirmed_rows_are_sent_with_their_evidence() {
    // The row's evidence is what an operator shows when somebody claims a message was never sent.
    outbox_.add(3);
    transport_.on_publish = [](const Message& m) {
      return PublishAnswer{PublishOutcome::Confirmed, "tag " + m.id.str()};
    };
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(3L, outbox_.count(OutboxVerdict::Sent));
    CPPUNIT_ASSERT_EQUAL(std::string("tag e1"), outbox_.marks[EventId("e1")].detail);
    CPPUNIT_ASSERT_EQUAL(3.0, outcomes("confirmed"));
    CPPUNIT_ASSERT_EQUAL(3.0, context_.metrics().sum(R"(penstock_batch_size{stage="publish"})"));
    CPPUNIT_ASSERT_EQUAL(std::string(), context_.health().state("transport"));
  }

  void the_remaining_delay_travels_with_the_message() {
    // A pay deadline is the database's instant: what is left of it decides when the message is due.
    outbox_.due.push_back({EventId("e"), "order.pay_due", {}, "{}", "trace", 0, Milliseconds(1234)});
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    const auto message = transport_.published().at(0);
    CPPUNIT_ASSERT(message.delay == Milliseconds(1234));
    CPPUNIT_ASSERT_EQUAL(std::string("order.pay_due"), message.routing_key);
    CPPUNIT_ASSERT_EQUAL(std::string("trace"), message.trace);
  }

  void nothing_due_waits_for_the_poll() {
    // An idle publisher must not keep a core busy.
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(*publisher_under_test.step() == settings_.poll);
    CPPUNIT_ASSERT(transport_.published().empty());
  }

  void a_full_batch_is_followed_at_once() {
    // A backlog must drain at full speed, and no further than the bound at a time.
    settings_.max_batch = 10;
    outbox_.add(15);
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(*publisher_under_test.step() == Milliseconds(0));
    CPPUNIT_ASSERT_EQUAL(std::size_t(10), transport_.published().size());
    CPPUNIT_ASSERT(*publisher_under_test.step() == settings_.poll);
    CPPUNIT_ASSERT_EQUAL(15L, outbox_.count(OutboxVerdict::Sent));
  }

  void one_unsendable_row_does_not_slow_the_others() {
    // 999 good orders must not wait for one bad one, and nobody may spin on it.
    outbox_.add(1000);
    transport_.on_publish = [](const Message& m) {
      return m.id == EventId("e0") ? PublishAnswer{PublishOutcome::Refused, "too large"}
                                   : PublishAnswer{PublishOutcome::Confirmed, ""};
    };
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(*publisher_under_test.step() == Milliseconds(0));
    CPPUNIT_ASSERT(*publisher_under_test.step() == Milliseconds(0));
    CPPUNIT_ASSERT_EQUAL(999L, outbox_.count(OutboxVerdict::Sent));
    const auto bad = outbox_.marks[EventId("e0")];
    CPPUNIT_ASSERT(bad.verdict == OutboxVerdict::Retry && bad.after >= settings_.retry.first / 2);
    CPPUNIT_ASSERT_EQUAL(std::string("refused: too large"), bad.detail);
    // Alone in its next batch it still takes nothing from the rows that follow.
    outbox_.due.push_back({EventId("e0"), "order.created", {}, "{}", "", 1, {}});
    CPPUNIT_ASSERT(*publisher_under_test.step() > Milliseconds(0));
    outbox_.add(400);
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(1399L, outbox_.count(OutboxVerdict::Sent));
    CPPUNIT_ASSERT_EQUAL(std::string(), context_.health().state("transport"));
  }

  void an_unsendable_row_backs_off_and_ends_dead_with_its_reason() {
    // Retrying for ever hides a defect; giving up without a reason hides it too.
    settings_.max_attempts = 4;
    transport_.on_publish = [](const Message&) {
      return PublishAnswer{PublishOutcome::Returned, "no queue is bound"};
    };
    auto publisher_under_test = publisher();
    Milliseconds before{0};
    for (std::uint32_t attempts = 0; attempts < 3; ++attempts) {
      outbox_.due.push_back({EventId("e"), "order.created", {}, "{}", "", attempts, {}});
      CPPUNIT_ASSERT(publisher_under_test.step().ok());
      const auto mark = outbox_.marks[EventId("e")];
      CPPUNIT_ASSERT(mark.verdict == OutboxVerdict::Retry);
      CPPUNIT_ASSERT(mark.after >= before);
      before = mark.after;
    }
    outbox_.due.push_back({EventId("e"), "order.created", {}, "{}", "", 3, {}});
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    CPPUNIT_ASSERT(outbox_.marks[EventId("e")].verdict == OutboxVerdict::Dead);
    CPPUNIT_ASSERT_EQUAL(std::string("returned: no queue is bound (given up after 4 publishes)"),
                         outbox_.marks[EventId("e")].detail);
    CPPUNIT_ASSERT_EQUAL(4.0, outcomes("returned"));
    CPPUNIT_ASSERT(context_.logger().contains("error outbox_row_dead event=e"));
  }

  void an_unconfirmed_row_is_never_given_up() {
    // An unknown outcome is no failure: the message may be there, and an outage is not the row's fault.
    outbox_.due.push_back({EventId("e"), "order.created", {}, "{}", "", 5'000, {}});
    transport_.on_publish = [](const Message&) {
      return PublishAnswer{PublishOutcome::Unknown, "no confirm in time"};
    };
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    const auto mark = outbox_.marks[EventId("e")];
    CPPUNIT_ASSERT(mark.verdict == OutboxVerdict::Retry && mark.after <= settings_.unknown_retry);
    CPPUNIT_ASSERT_EQUAL(std::string("not confirmed: no confirm in time"), mark.detail);
    CPPUNIT_ASSERT_EQUAL(std::string("takes no message: no confirm in time"),
                         context_.health().state("transport"));
  }

  void an_outage_is_probed_with_few_rows_and_growing_waits() {
    // An outage must not burn through the backlog's attempts, nor a core.
    outbox_.add(2'000);
    bool away = true;
    transport_.on_publish = [&](const Message&) {
      return PublishAnswer{away ? PublishOutcome::Unknown : PublishOutcome::Confirmed, ""};
    };
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    for (int i = 0; i < 10; ++i) CPPUNIT_ASSERT(publisher_under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(600), transport_.published().size());
    CPPUNIT_ASSERT(*publisher_under_test.step() >= Milliseconds(2'000));
    away = false;
    CPPUNIT_ASSERT(*publisher_under_test.step() == Milliseconds(0));
    CPPUNIT_ASSERT_EQUAL(std::string(), context_.health().state("transport"));
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(510L, outbox_.count(OutboxVerdict::Sent));
  }

  void queues_are_declared_again_after_a_message_was_returned() {
    // A queue deleted under a running system comes back without a restart.
    outbox_.add(1);
    bool gone = true;
    transport_.on_publish = [&](const Message&) {
      return PublishAnswer{gone ? PublishOutcome::Returned : PublishOutcome::Confirmed, ""};
    };
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(1, transport_.declared());
    gone = false;
    outbox_.add(1);
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(2, transport_.declared());
    CPPUNIT_ASSERT_EQUAL(1L, outbox_.count(OutboxVerdict::Sent));
  }

  void nothing_is_leased_before_the_queues_are_declared() {
    // A message without its queue would only come back, and use up an attempt.
    transport_.on_declare = [](const Topology&) -> Result<void> {
      return Error{ErrorCode::Unavailable, "no route to broker"};
    };
    outbox_.add(1);
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(!publisher_under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(0, store_.leases());
    CPPUNIT_ASSERT_EQUAL(std::string("queues not declared: no route to broker"),
                         context_.health().state("transport"));
  }

  void late_marks_are_counted() {
    // A process that slept longer than its lease must show in the figures: its rows went out twice.
    outbox_.add(2);
    store_.on_mark = [](const LeaseToken&, std::span<const OutboxMark>) {
      return std::vector<MarkOutcome>{MarkOutcome::LeaseLost, MarkOutcome::Marked};
    };
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(1.0, context_.metrics().value("penstock_outbox_late_marks_total"));
  }

  void marking_is_tried_again_once() {
    // Every mark that is missed costs a second publish; but the database may really be away.
    outbox_.add(1);
    int calls = 0;
    int failures = 1;
    store_.on_mark = [&](const LeaseToken&,
                         std::span<const OutboxMark> marks) -> Result<std::vector<MarkOutcome>> {
      if (++calls <= failures) return Error{ErrorCode::UnknownOutcome, "lost on commit"};
      return outbox_.mark(marks);
    };
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(publisher_under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(1L, outbox_.count(OutboxVerdict::Sent));
    failures = 99;
    outbox_.add(1);
    CPPUNIT_ASSERT(!publisher_under_test.step().ok());
    CPPUNIT_ASSERT_EQUAL(4, calls);
  }

  void a_failure_after_publishing_marks_nothing() {
    // The window between the confirm and the mark: the row goes out again, and only its effect is single.
    setenv("PENSTOCK_FAILPOINTS", "outbox.after_publish=fail@1", 1);
    CPPUNIT_ASSERT(fail_point::arm_from_environment().ok());
    outbox_.add(1);
    auto publisher_under_test = publisher();
    CPPUNIT_ASSERT(!publisher_under_test.step().ok());
    CPPUNIT_ASSERT(outbox_.marks.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), transport_.published().size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PublisherTest);

}  // namespace
