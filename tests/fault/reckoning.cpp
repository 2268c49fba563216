#include "reckoning.hpp"

#include "penstock/testkit/wait_until.hpp"

#include <cppunit/TestAssert.h>

#include <map>
#include <set>

namespace penstock::fault_test {
namespace {

const json::Value& member(const json::Value& object, const std::string& name) {
  const auto* value = object.find(name);
  CPPUNIT_ASSERT_MESSAGE("the audit has no " + name, value);
  return *value;
}

std::int64_t integer(const json::Value& object, const std::string& name) {
  const auto* number = member(object, name).as_integer();
  CPPUNIT_ASSERT_MESSAGE(name + " is no integer", number);
  return *number;
}

json::Value parse(const std::string& text) {
  auto value = json::parse(text);
  CPPUNIT_ASSERT_MESSAGE(text, value.ok());
  return std::move(*value);
}

// Each request was told one number only, and no two requests the same one.
void assert_one_order_per_request(const std::vector<load::LoggedAnswer>& answers) {
  std::map<std::string, std::string> number_of;
  std::map<std::string, std::string> request_of;
  for (const auto& answer : answers) {
    if (answer.action != load::Action::Order || answer.status != 202) continue;
    const auto& number = number_of.try_emplace(answer.request_id, answer.order_no).first->second;
    CPPUNIT_ASSERT_EQUAL_MESSAGE(answer.request_id, number, answer.order_no);
    const auto& request = request_of.try_emplace(answer.order_no, answer.request_id).first->second;
    CPPUNIT_ASSERT_EQUAL_MESSAGE(answer.order_no, request, answer.request_id);
  }
}

// A payment that was answered 200 is kept, whatever happened afterwards.
void assert_payments_kept(const std::vector<load::LoggedAnswer>& answers) {
  std::set<std::string> paid;
  for (const auto& answer : answers) {
    if (answer.action == load::Action::Pay && answer.status == 200 && answer.order_status == "PAID") {
      paid.insert(answer.request_id);
    }
    if (answer.action == load::Action::Final && paid.contains(answer.request_id)) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(answer.request_id, std::string("PAID"), answer.order_status);
    }
  }
}

std::int64_t told(const load::SaleResult& result, const std::string& status) {
  std::size_t count = 0;
  for (const auto& [state, buyers] : result.states) {
    if (state == status || state.starts_with(status + "/")) count += buyers;
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace

Audit::Audit(const Shop& shop) : report_(parse(shop.run({"audit", "--json"}))) {}

std::int64_t Audit::of_product(const std::string& product, const std::string& term) const {
  for (const auto& sku : *member(report_, "skus").as_array()) {
    if (*member(sku, "productId").as_string() == product) return integer(sku, term);
  }
  CPPUNIT_FAIL("the audit does not know " + product);
  return 0;
}

std::int64_t Audit::orders(const std::string& status) const {
  return integer(member(report_, "orders"), status);
}

std::int64_t Audit::all_orders() const {
  std::int64_t sum = 0;
  for (const auto& [status, count] : *member(report_, "orders").as_object()) sum += *count.as_integer();
  return sum;
}

std::int64_t Audit::outbox(const std::string& state) const {
  return integer(member(report_, "outbox"), state);
}

bool Audit::gate_was_checked() const {
  return *member(report_, "gateChecked").as_bool();
}

void wait_until_at_rest(const Server& server) {
  const bool rest = testkit::wait_until(
      [&] {
        return server.metric_sum("penstock_outbox_events") == 0 &&
               server.metric_sum("penstock_queue_messages") == 0 &&
               server.metric_sum("penstock_dead_letters") == 0;
      },
      kLimit);
  CPPUNIT_ASSERT_MESSAGE(server.ask("/metrics") + server.log(), rest);
}

void reckon(const Shop& shop, const Server& server, Crowd& crowd, const std::string& product,
            std::int64_t units) {
  const auto& told_so = crowd.finish();
  wait_until_at_rest(server);
  const Audit audit(shop);
  CPPUNIT_ASSERT(audit.gate_was_checked());

  assert_one_order_per_request(crowd.answers());
  assert_payments_kept(crowd.answers());
  CPPUNIT_ASSERT_EQUAL(static_cast<std::int64_t>(told_so.accepted), audit.all_orders());
  for (const auto* status : {"PAID", "CANCELLED", "FAILED", "REFUNDED"}) {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(status, told(told_so, status), audit.orders(status));
  }

  CPPUNIT_ASSERT_EQUAL(audit.orders("PAID"), audit.of_product(product, "sold"));
  CPPUNIT_ASSERT_EQUAL(units - audit.orders("PAID"), audit.of_product(product, "free"));
  CPPUNIT_ASSERT_EQUAL(audit.of_product(product, "free"), audit.of_product(product, "gateFree"));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(0), audit.of_product(product, "gateHeld"));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(0), audit.outbox("pending"));
  CPPUNIT_ASSERT_EQUAL(std::int64_t(0), audit.outbox("dead"));
}

}  // namespace penstock::fault_test
