#include "penstock/orders/events.hpp"
#include "penstock/testkit/fake_stock_books.hpp"
#include "penstock/testkit/fake_transport.hpp"
#include "penstock/testkit/plugin_under_test.hpp"
#include "penstock/testkit/wait_until.hpp"

#include "metrics/query_gauges.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace {

using namespace penstock;
using testkit::wait_until;

orders::StoreFigures some_figures() {
  orders::StoreFigures figures;
  figures.outbox = {{"NEW", 3}, {"RETRY", 2}};
  figures.outbox_oldest_pending = Milliseconds(1'500);
  figures.overdue = {{orders::OrderStatus::WaitingPay, 4}};
  figures.imbalance_units = 1;
  return figures;
}

class MetricsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(MetricsTest);
  CPPUNIT_TEST(every_figure_becomes_its_gauge);
  CPPUNIT_TEST(a_state_that_is_over_goes_back_to_zero);
  CPPUNIT_TEST(a_store_that_is_away_does_not_hide_the_queues);
  CPPUNIT_TEST(a_queue_that_is_not_declared_yet_is_empty);
  CPPUNIT_TEST(a_scrape_never_queries);
  CPPUNIT_TEST_SUITE_END();

  testkit::FakeStockBooks books_;
  testkit::FakeTransport transport_;
  testkit::RecordingMetrics metrics_;

 public:
  void every_figure_becomes_its_gauge() {
    // Alerts and dashboards are written against these names.
    books_.on_figures = [] { return some_figures(); };
    transport_.on_depth = [](const QueueName& queue) {
      if (queue == orders::lock_queue()) return QueueDepth{5, 6, 7, 8, Milliseconds(2'500)};
      return QueueDepth{};
    };
    metrics::QueryGauges gauges(metrics_, books_, transport_);
    CPPUNIT_ASSERT(gauges.refresh().ok());
    const auto lock = orders::lock_queue().str();
    CPPUNIT_ASSERT_EQUAL(3.0, metrics_.value("penstock_outbox_events{state=\"NEW\"}"));
    CPPUNIT_ASSERT_EQUAL(2.0, metrics_.value("penstock_outbox_events{state=\"RETRY\"}"));
    CPPUNIT_ASSERT_EQUAL(1.5, metrics_.value("penstock_outbox_oldest_pending_seconds"));
    CPPUNIT_ASSERT_EQUAL(4.0, metrics_.value("penstock_orders_overdue{status=\"WAITING_PAY\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics_.value("penstock_stock_imbalance_units"));
    CPPUNIT_ASSERT_EQUAL(5.0,
                         metrics_.value("penstock_queue_messages{queue=\"" + lock + "\",state=\"ready\"}"));
    CPPUNIT_ASSERT_EQUAL(6.0,
                         metrics_.value("penstock_queue_messages{queue=\"" + lock + "\",state=\"delayed\"}"));
    CPPUNIT_ASSERT_EQUAL(7.0,
                         metrics_.value("penstock_queue_messages{queue=\"" + lock + "\",state=\"unacked\"}"));
    CPPUNIT_ASSERT_EQUAL(8.0, metrics_.value("penstock_dead_letters{queue=\"" + lock + "\"}"));
    CPPUNIT_ASSERT_EQUAL(2.5,
                         metrics_.value("penstock_queue_oldest_message_seconds{queue=\"" + lock + "\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics_.value("penstock_gauge_refreshes_total{outcome=\"done\"}"));
  }

  void a_state_that_is_over_goes_back_to_zero() {
    // The store names only states that it has; silence means none, not "as before".
    books_.on_figures = [] { return some_figures(); };
    metrics::QueryGauges gauges(metrics_, books_, transport_);
    CPPUNIT_ASSERT(gauges.refresh().ok());
    books_.on_figures = [] { return orders::StoreFigures{}; };
    CPPUNIT_ASSERT(gauges.refresh().ok());
    CPPUNIT_ASSERT_EQUAL(0.0, metrics_.value("penstock_outbox_events{state=\"NEW\"}"));
    CPPUNIT_ASSERT_EQUAL(0.0, metrics_.value("penstock_orders_overdue{status=\"WAITING_PAY\"}"));
    CPPUNIT_ASSERT_EQUAL(0.0, metrics_.value("penstock_stock_imbalance_units"));
  }

  void a_store_that_is_away_does_not_hide_the_queues() {
    // One missing dependency must not blind the view on the other.
    books_.on_figures = []() -> Result<orders::StoreFigures> {
      return Error{ErrorCode::Unavailable, "away"};
    };
    transport_.on_depth = [](const QueueName&) { return QueueDepth{1, 0, 0, 0, {}}; };
    metrics::QueryGauges gauges(metrics_, books_, transport_);
    const auto refreshed = gauges.refresh();
    CPPUNIT_ASSERT(!refreshed.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("away"), refreshed.error().message);
    const auto ready =
        "penstock_queue_messages{queue=\"" + orders::lock_queue().str() + "\",state=\"ready\"}";
    CPPUNIT_ASSERT_EQUAL(1.0, metrics_.value(ready));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics_.value("penstock_gauge_refreshes_total{outcome=\"error\"}"));
  }

  void a_queue_that_is_not_declared_yet_is_empty() {
    // The consumers may start after this plugin.
    transport_.on_depth = [](const QueueName&) -> Result<QueueDepth> {
      return Error{ErrorCode::NotFound, "no queue"};
    };
    metrics::QueryGauges gauges(metrics_, books_, transport_);
    CPPUNIT_ASSERT(gauges.refresh().ok());
  }

  void a_scrape_never_queries() {
    // Prometheus' interval and number must not become load on the database.
    testkit::PluginUnderTest plugin;
    auto& context = plugin.context();
    context.services().provide<orders::StockBooks>(books_);
    context.services().provide<Transport>(transport_);
    context.config().set("refresh_ms", "600000");
    CPPUNIT_ASSERT(plugin.configure().ok());
    CPPUNIT_ASSERT(plugin.start().ok());
    CPPUNIT_ASSERT(wait_until(
        [&] { return context.metrics().value("penstock_gauge_refreshes_total{outcome=\"done\"}") == 1; }));
    for (int i = 0; i < 10; ++i) {
      const auto answer = context.http().call({HttpMethod::Get, "/metrics", "", {}, {}});
      CPPUNIT_ASSERT_EQUAL(200, answer.response.status);
      CPPUNIT_ASSERT_EQUAL(std::string("text/plain; version=0.0.4"), answer.response.content_type);
      CPPUNIT_ASSERT(answer.response.body.find("penstock_stock_imbalance_units") != std::string::npos);
    }
    CPPUNIT_ASSERT_EQUAL(1, books_.figures_read());
    CPPUNIT_ASSERT(context.http().routes()[0].listener == HttpListener::Operator);
    CPPUNIT_ASSERT(plugin.stop().ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(MetricsTest);

}  // namespace
