// Faults that no fail point makes: signals, frozen processes, backlogs, poison.
#include "reckoning.hpp"

#include "load/closed_loop.hpp"
#include "load/requests.hpp"
#include "penstock/testkit/sanitizer.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <Poco/Data/DataException.h>
#include <Poco/Data/SQLite/Connector.h>
#include <Poco/Data/Session.h>
#include <cppunit/extensions/HelperMacros.h>

#include <signal.h>

#include <iostream>

namespace penstock::fault_test {
namespace {

using namespace Poco::Data::Keywords;
using testkit::wait_until;

// What one client on one connection is told.
load::OrderView order_once(const load::Target& door, const load::OrderRequest& order, int& status) {
  load::Loop loop(door);
  load::Client client(loop, std::chrono::seconds(10));
  load::OrderView view;
  client.send(load::order_request(order), [&](const load::Answer& answer) {
    status = answer.status;
    view = load::read_order(answer.body);
    loop.stop();
  });
  loop.run();
  return view;
}

class ProcessFaultsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProcessFaultsTest);
  CPPUNIT_TEST(terminated_under_load_loses_nothing);
  CPPUNIT_TEST(killed_between_hold_and_transaction_again_and_again);
  CPPUNIT_TEST(a_publisher_frozen_beyond_its_lease_cannot_mark);
  CPPUNIT_TEST(a_backlog_is_drained_after_a_restart_with_flat_memory);
  CPPUNIT_TEST(poison_is_parked_with_its_reason_and_the_others_flow);
  CPPUNIT_TEST(an_unsendable_row_ends_dead_and_the_others_go_at_their_speed);
  CPPUNIT_TEST(a_parked_message_is_replayed_once_and_never_after_its_effect);
  CPPUNIT_TEST(overload_is_shed_while_the_others_are_served_as_before);
  CPPUNIT_TEST_SUITE_END();

  // A process frozen inside of a transaction holds up everybody at the same file, which is another story.
  static void freeze_outside_of_transactions(const Shop& shop, const Server& server) {
    auto session = database_of(shop, 0);
    const bool outside = wait_until(
        [&] {
          server.signal(SIGSTOP);
          try {
            session << "BEGIN IMMEDIATE", now;
            session << "ROLLBACK", now;
            return true;
          } catch (const Poco::Data::DataException&) {
            server.signal(SIGCONT);
            return false;
          }
        },
        kLimit);
    CPPUNIT_ASSERT(outside);
  }

  static Poco::Data::Session database_of(const Shop& shop, int busy_ms) {
    Poco::Data::SQLite::Connector::registerConnector();
    Poco::Data::Session session("SQLite", shop.database().string());
    session << "PRAGMA busy_timeout = " + std::to_string(busy_ms), now;
    return session;
  }

  static void put_into_outbox(const Shop& shop, const std::string& id, const std::string& body) {
    auto session = database_of(shop, 10'000);
    std::string event = id;
    std::string text = body;
    session << "INSERT INTO mq_outbox (event_id, event_type, order_no, body, trace, state, next_at, due_at, "
               "created_at,"
               " updated_at) SELECT ?, 'order.created', 'none', ?, '', 'NEW', t, t, t, t"
               " FROM (SELECT strftime('%Y-%m-%d %H:%M:%f', 'now') AS t)",
        use(event), use(text), now;
  }

 public:
  void terminated_under_load_loses_nothing() {
    // Every deployment does this: what was promised before the signal is kept after it.
    const Shop shop("p,150,2");
    auto server = shop.open();
    auto settings = crowd_of(300, shop.buyers_door(), "p");
    settings.arrival = std::chrono::seconds(2);
    Crowd crowd(settings);
    CPPUNIT_ASSERT(wait_until([&] { return crowd.accepted() >= 50; }, kLimit));
    const auto before = std::chrono::steady_clock::now();
    server->terminate();
    const auto took = std::chrono::steady_clock::now() - before;
    CPPUNIT_ASSERT_MESSAGE(server->log(), took < std::chrono::seconds(30));
    server = shop.open();
    reckon(shop, *server, crowd, "p", 150);
    server->terminate();
  }

  void killed_between_hold_and_transaction_again_and_again() {
    // A crash loop must not eat the stock: each hold that never became an order comes back, once.
    const Shop shop("p,3,600");
    const load::OrderRequest wish{"u", "r", "p", 1};
    int status = 0;
    for (int i = 0; i < 100; ++i) {
      auto server = shop.launch("intake.after_reserve=kill@1");
      server->wait_ready();
      order_once(shop.buyers_door(), wish, status);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(server->log(), 137, server->wait_exit());
      CPPUNIT_ASSERT_EQUAL(0, status);
    }
    const auto server = shop.open();
    const auto order = order_once(shop.buyers_door(), wish, status);
    CPPUNIT_ASSERT_EQUAL(202, status);
    CPPUNIT_ASSERT(wait_until([&] { return Audit(shop).orders("WAITING_PAY") == 1; }, kLimit));
    const Audit audit(shop);
    CPPUNIT_ASSERT_EQUAL(std::int64_t(1), audit.all_orders());
    CPPUNIT_ASSERT_EQUAL(std::int64_t(2), audit.of_product("p", "free"));
    CPPUNIT_ASSERT_EQUAL(std::int64_t(2), audit.of_product("p", "gateFree"));
    CPPUNIT_ASSERT_EQUAL(order.order_no, order_once(shop.buyers_door(), wish, status).order_no);
    server->terminate();
  }

  void a_publisher_frozen_beyond_its_lease_cannot_mark() {
    // A virtual machine that was paused still believes in its lease; the database does not.
    Shop shop("p,20,600");
    shop.set("outbox_publisher.lease_ms", "300");
    shop.set("outbox_publisher.publish_timeout_ms", "200");
    const auto frozen = shop.launch("outbox.after_lease=delay:5000@1");
    frozen->wait_ready();
    int status = 0;
    order_once(shop.buyers_door(), {"u", "r", "p", 1}, status);
    CPPUNIT_ASSERT_EQUAL(202, status);
    CPPUNIT_ASSERT(
        wait_until([&] { return frozen->metric("penstock_outbox_events{state=\"LEASED\"}") == 1; }, kLimit));
    freeze_outside_of_transactions(shop, *frozen);

    const auto other = shop.launch_beside("order_store_sql,transport_sql,outbox_publisher,metrics");
    other->wait_ready();
    const auto confirmed = "penstock_outbox_publishes_total{outcome=\"confirmed\"}";
    CPPUNIT_ASSERT_MESSAGE(other->log(), wait_until([&] { return other->metric(confirmed) == 1; }, kLimit));
    CPPUNIT_ASSERT_EQUAL(0.0, other->metric("penstock_outbox_late_marks_total"));

    frozen->signal(SIGCONT);
    const bool refused =
        wait_until([&] { return frozen->metric("penstock_outbox_late_marks_total") == 1; }, kLimit);
    CPPUNIT_ASSERT_MESSAGE(frozen->log(), refused);
    // Published twice, locked once.
    CPPUNIT_ASSERT(wait_until([&] { return Audit(shop).orders("WAITING_PAY") == 1; }, kLimit));
    CPPUNIT_ASSERT_EQUAL(std::int64_t(1), Audit(shop).of_product("p", "locked"));
    other->terminate();
    frozen->terminate();
  }

  void a_backlog_is_drained_after_a_restart_with_flat_memory() {
    // After a night without a broker everything is due at once: leases are bounded, so memory is too.
    constexpr int kBacklog = 50'000;
    Shop shop("p,1000000,3600");
    shop.set("order_intake.max_backlog", "10000000");
    shop.set("plugins", "stock_memory,order_store_sql,order_intake,reconciler,transport_memory,metrics");
    fill_outbox(shop, kBacklog);

    shop.set("plugins",
             "stock_memory,order_store_sql,transport_sql,order_intake,outbox_publisher,order_consumer,"
             "timeout_release,reconciler,metrics");
    const auto began = std::chrono::steady_clock::now();
    const auto server = shop.open();
    const auto locked = [&] {
      return server->metric("penstock_consumed_total{consumer=\"lock\",outcome=\"done\"}");
    };
    CPPUNIT_ASSERT_MESSAGE(server->log(), wait_until([&] { return locked() > 0; }, kLimit));
    const long at_first = server->memory_kb("VmRSS");
    const bool drained =
        wait_until([&] { return server->metric_sum("penstock_outbox_events") == 0 && locked() >= kBacklog; },
                   std::chrono::minutes(3));
    CPPUNIT_ASSERT_MESSAGE(server->log(), drained);
    const long growth_kb = server->memory_kb("VmHWM") - at_first;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::cerr << " [" << locked() << " orders in " << took.count() << " s, memory grew by " << growth_kb
              << " kB] ";
    CPPUNIT_ASSERT_MESSAGE(std::to_string(growth_kb), testkit::kSanitized || growth_kb < kCachesKb);
    CPPUNIT_ASSERT(
        wait_until([&] { return locked() == static_cast<double>(Audit(shop).all_orders()); }, kLimit));
    CPPUNIT_ASSERT(Audit(shop).gate_was_checked());
    server->terminate();
  }

  void poison_is_parked_with_its_reason_and_the_others_flow() {
    // One message that cannot be read must not stop a sale, nor vanish without a word.
    const Shop shop("p,30,1");
    const auto server = shop.open();
    const std::pair<std::string, std::string> poison[] = {
        {"bad:json", "{\"version\":1,"},
        {"bad:type",
         R"({"version":1,"eventId":"bad:type","type":"order.created","orderNo":true,"lines":[]})"},
        {"bad:version",
         R"({"version":99,"eventId":"bad:version","type":"order.created","orderNo":"x","lines":[]})"},
        {"bad:depth", std::string(1'000, '[') + std::string(1'000, ']')}};
    for (const auto& [id, body] : poison) put_into_outbox(shop, id, body);
    Crowd crowd(crowd_of(60, shop.buyers_door(), "p"));
    crowd.finish();
    const auto parked = static_cast<double>(std::size(poison));
    const bool all_parked =
        wait_until([&] { return server->metric_sum("penstock_dead_letters") == parked; }, kLimit);
    const auto reasons = shop.run({"dead", "list", "penstock.order.lock"});
    CPPUNIT_ASSERT_MESSAGE(reasons + server->log(), all_parked);
    for (const auto* reason : {"orderNo: found a boolean, allowed a string", "version: found 99, allowed 1",
                               "nested deeper than 16 levels"}) {
      CPPUNIT_ASSERT_MESSAGE(reasons, reasons.find(reason) != std::string::npos);
    }
    for (const auto& [id, body] : poison) shop.run({"dead", "drop", "penstock.order.lock", id, "--yes"});
    wait_until_at_rest(*server);
    server->terminate();
  }

  void an_unsendable_row_ends_dead_and_the_others_go_at_their_speed() {
    // What the transport never takes must be given up with a reason, and must not hold up the rest.
    Shop shop("p,30,1");
    shop.set("outbox_publisher.max_attempts", "3");
    const auto server = shop.open();
    put_into_outbox(shop, "bad:size", std::string(10 * 1024 * 1024, 'x'));
    put_into_outbox(shop, "bad:utf8", "{\"version\":1,\"eventId\":\"bad:utf8\xff\"}");
    Crowd crowd(crowd_of(60, shop.buyers_door(), "p"));
    crowd.finish();
    const bool dead =
        wait_until([&] { return server->metric("penstock_outbox_events{state=\"DEAD\"}") == 2; }, kLimit);
    CPPUNIT_ASSERT_MESSAGE(server->ask("/metrics") + server->log(), dead);
    CPPUNIT_ASSERT_MESSAGE(server->log(), server->log().find("outbox_row_dead") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(6.0, server->metric("penstock_outbox_publishes_total{outcome=\"refused\"}"));
    server->terminate();
  }

  void a_parked_message_is_replayed_once_and_never_after_its_effect() {
    // People click twice, and replay what has sorted itself out meanwhile.
    const Shop shop("p,5,600");
    const auto server = shop.open();
    int status = 0;
    const auto order = order_once(shop.buyers_door(), {"u", "r", "p", 1}, status);
    CPPUNIT_ASSERT_EQUAL(202, status);
    CPPUNIT_ASSERT(wait_until([&] { return Audit(shop).orders("WAITING_PAY") == 1; }, kLimit));
    server->terminate();
    const auto handled = order.order_no + ":order.created";
    park(shop, handled);
    park(shop, "nobody:order.created");

    const std::string queue = "penstock.order.lock";
    shop.run({"dead", "replay", queue, "nobody:order.created"});
    shop.run({"dead", "replay", queue, "nobody:order.created"}, kRefused);
    shop.run({"dead", "replay", queue, handled}, kRefused);
    const auto left = shop.run({"dead", "list", queue});
    CPPUNIT_ASSERT_MESSAGE(left, left.find(handled) != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(left, left.find("nobody") == std::string::npos);
    shop.run({"dead", "drop", queue, handled, "--yes"});
    shop.run({"dead", "drop", queue, handled, "--yes"}, kRefused);
    CPPUNIT_ASSERT_EQUAL(std::int64_t(1), Audit(shop).of_product("p", "locked"));
  }

  void overload_is_shed_while_the_others_are_served_as_before() {
    // Far more than can be done: who is turned away hears so at once, nobody waits for nothing, memory
    // stays flat, and what is accepted goes on being handled at its usual speed.
    Shop shop("p,100000000,3600");
    shop.set("order_intake.accept_max_queue", "200");
    shop.set("order_intake.max_backlog", "5000");
    const auto server = shop.open();
    const auto usual = rush(shop, *server, 50, std::chrono::seconds(4));
    const long memory_before = server->memory_kb("VmRSS");
    const auto orders_before = Audit(shop).all_orders();

    const auto crowded = rush(shop, *server, 2'000, std::chrono::seconds(20));
    const long growth_kb = server->memory_kb("VmRSS") - memory_before;
    const auto recovered = [&] {
      int status = 0;
      order_once(shop.buyers_door(), {"after", "r", "p", 1}, status);
      return status == 202;
    };
    CPPUNIT_ASSERT(wait_until(recovered, std::chrono::seconds(10)));

    std::cerr << " [handled per second: " << usual.handled_per_second << " as usual, "
              << crowded.handled_per_second << " crowded, " << crowded.shed << " shed; memory grew by "
              << growth_kb << " kB] ";
    CPPUNIT_ASSERT(crowded.shed > crowded.accepted);
    CPPUNIT_ASSERT_EQUAL(std::string(), crowded.neither);
    CPPUNIT_ASSERT(crowded.handled_per_second > usual.handled_per_second / (testkit::kSanitized ? 4 : 2));
    // A kilobyte for each order that now holds stock at the gate, and as much as the caches may take.
    const auto orders = Audit(shop).all_orders() - orders_before;
    CPPUNIT_ASSERT(testkit::kSanitized || growth_kb < orders + kCachesKb);
    CPPUNIT_ASSERT(wait_until([&] { return Audit(shop).orders("PROCESSING") == 0; }, kLimit));
    CPPUNIT_ASSERT(Audit(shop).gate_was_checked());
    server->terminate();
  }

 private:
  static constexpr int kRefused = 1;  // the command's answer is no
  static constexpr long kCachesKb = 48 * 1024;

  struct Rush {
    double handled_per_second = 0;
    std::uint64_t accepted = 0;
    std::uint64_t shed = 0;
    std::string neither;  // "status: count" of all other answers; status 0: none came
  };

  // So many connections, each ordering again as soon as it has its answer.
  static Rush rush(const Shop& shop, const Server& server, std::size_t connections,
                   std::chrono::seconds duration) {
    static int next = 0;
    load::ClosedLoopSettings settings;
    settings.target = shop.buyers_door();
    settings.connections = connections;
    settings.duration = duration;
    // A sanitized server takes seconds for each of the commits that stand in line before an order's own.
    if (testkit::kSanitized) settings.limit = kLimit;
    std::vector<std::string> of_connection(connections);
    double handled[2] = {0, 0};
    const auto result = load::run_closed_loop(
        settings,
        [&](std::size_t connection) -> const std::string& {
          const auto number = std::to_string(next++);
          return of_connection[connection] = load::order_request({"u" + number, "r" + number, "p", 1});
        },
        [&](bool over) {
          handled[over ? 1 : 0] =
              server.metric("penstock_consumed_total{consumer=\"lock\",outcome=\"done\"}");
        });
    Rush rush{(handled[1] - handled[0]) / result.seconds, result.answers(202), result.answers(503), {}};
    for (const auto& [status, count] : result.by_status) {
      if (status != 202 && status != 503) {
        rush.neither += std::to_string(status) + ": " + std::to_string(count) + "\n";
      }
    }
    return rush;
  }

  // As if the transport had given up on a delivery of this event.
  static void park(const Shop& shop, const std::string& id) {
    auto session = database_of(shop, 10'000);
    std::string message = id;
    session << "INSERT INTO transport_message (queue_id, message_id, routing_key, body, trace, state, "
               "attempts, suspect,"
               " visible_at, reason, published_at, parked_at)"
               " SELECT queue_id, ?, 'order.created', '{}', '', 'DEAD', 30, 0, t, 'parked by hand', t, t"
               " FROM transport_queue, (SELECT strftime('%Y-%m-%d %H:%M:%f', 'now') AS t)"
               " WHERE name = 'penstock.order.lock'",
        use(message), now;
  }

  static void fill_outbox(const Shop& shop, int rows) {
    const auto server = shop.open();
    int next = 0;
    while (server->metric("penstock_outbox_events{state=\"NEW\"}") < rows) {
      load::ClosedLoopSettings settings;
      settings.target = shop.buyers_door();
      settings.connections = 500;
      settings.warm_up = load::Milliseconds(0);
      settings.duration = std::chrono::seconds(1);
      std::vector<std::string> of_connection(settings.connections);
      const auto result = load::run_closed_loop(
          settings,
          [&](std::size_t connection) -> const std::string& {
            const auto number = std::to_string(next++);
            return of_connection[connection] = load::order_request({"u" + number, "r" + number, "p", 1});
          },
          [](bool) {});
      CPPUNIT_ASSERT_MESSAGE(server->log(), result.answers(202) > 0);
    }
    server->kill();
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ProcessFaultsTest);

}  // namespace
}  // namespace penstock::fault_test
