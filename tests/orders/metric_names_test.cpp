// Metric names are a public interface: dashboards and alerts of others break silently when one goes.
#include "service.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <fstream>
#include <set>
#include <sstream>

namespace penstock::orders_test {
namespace {

// "name type" of every metric in an exposition, from its TYPE lines.
std::set<std::string> names_in(const std::string& exposition) {
  std::set<std::string> names;
  std::istringstream lines(exposition);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) names.insert(line.substr(7));
  }
  return names;
}

std::set<std::string> golden_names() {
  std::set<std::string> names;
  std::ifstream file(METRIC_NAMES_FILE);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') names.insert(line);
  }
  return names;
}

// What stands only in the first.
std::string missing(const std::set<std::string>& names, const std::set<std::string>& from) {
  std::string text;
  for (const auto& name : names) {
    if (!from.contains(name)) text += name + "\n";
  }
  return text;
}

class MetricNamesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(MetricNamesTest);
  CPPUNIT_TEST(the_names_are_those_of_the_golden_list);
  CPPUNIT_TEST(no_order_user_or_product_stands_in_a_label);
  CPPUNIT_TEST_SUITE_END();

  std::unique_ptr<Service> service_;
  std::string order_no_;
  std::string exposition_;

 public:
  void setUp() override {
    service_ = std::make_unique<Service>(
        "product,name,quantity,price_minor,currency,pay_within_seconds\n"
        "some-product,Some,5,1999,EUR,1\n");
    order_no_ = service_->order("some-user", "some-request", "some-product").text("orderNo");
    service_->wait_for("some-user", order_no_, "CANCELLED");
    service_->wait_for_free("some-product", 5);
    const auto scraped = service_->call_operator("/metrics");
    CPPUNIT_ASSERT_EQUAL(200, scraped.status);
    CPPUNIT_ASSERT_EQUAL(std::string("text/plain; version=0.0.4"), scraped.headers.at("Content-Type"));
    exposition_ = scraped.body;
  }
  void tearDown() override {
    if (const auto service = std::move(service_)) service->stop();
  }

  void the_names_are_those_of_the_golden_list() {
    // A new name is added to the list on purpose; a name that goes is told to those who use it.
    const auto found = names_in(exposition_);
    const auto golden = golden_names();
    CPPUNIT_ASSERT_EQUAL_MESSAGE("gone", std::string(), missing(golden, found));
    CPPUNIT_ASSERT_EQUAL_MESSAGE("not in the list", std::string(), missing(found, golden));
  }

  void no_order_user_or_product_stands_in_a_label() {
    // One label value per order would fill the memory of every scraper.
    for (const auto& secret :
         {order_no_, std::string("some-user"), std::string("some-request"), std::string("some-product")}) {
      CPPUNIT_ASSERT_MESSAGE(secret, exposition_.find(secret) == std::string::npos);
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(MetricNamesTest);

}  // namespace
}  // namespace penstock::orders_test
