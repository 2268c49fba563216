#include "stock_memory/request_book.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace penstock::stock_memory {

class RequestBookTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RequestBookTest);
  CPPUNIT_TEST(ended_requests_are_forgotten_oldest_first);
  CPPUNIT_TEST(held_requests_do_not_count_against_the_bound);
  CPPUNIT_TEST(forgotten_request_may_be_added_again);
  CPPUNIT_TEST(bound_of_zero_remembers_none);
  CPPUNIT_TEST_SUITE_END();

  static KnownRequest request(const std::string& id) {
    return {orders::UserId("alice"), orders::RequestId(id), orders::BodyHash("body"),
            orders::OrderNo("O-" + id)};
  }
  static const KnownRequest* find(const RequestBook& book, const char* id) {
    return book.find(orders::UserId("alice"), orders::RequestId(id));
  }

  void ended_requests_are_forgotten_oldest_first() {
    // Without a bound a long sale would fill the memory; the oldest are the least likely to be repeated.
    RequestBook book(2);
    for (const auto* id : {"1", "2", "3"}) book.end(book.add(request(id)));
    CPPUNIT_ASSERT(!find(book, "1"));
    CPPUNIT_ASSERT(find(book, "2") && find(book, "3"));
    CPPUNIT_ASSERT_EQUAL(std::string_view("O-3"), find(book, "3")->order_no());
    CPPUNIT_ASSERT_EQUAL(std::string_view("body"), find(book, "3")->body());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), book.size());
  }

  void held_requests_do_not_count_against_the_bound() {
    // A hold whose request was forgotten could be reserved a second time.
    RequestBook book(1);
    for (const auto* id : {"1", "2", "3"}) book.add(request(id));
    book.end(book.add(request("4")));
    CPPUNIT_ASSERT(find(book, "1") && find(book, "2") && find(book, "3") && find(book, "4"));
  }

  void forgotten_request_may_be_added_again() {
    // An undone order leaves no trace that could answer or block the next try.
    RequestBook book(5);
    book.forget(book.add(request("1")));
    CPPUNIT_ASSERT(!find(book, "1"));
    book.end(book.add(request("1")));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), book.size());
  }

  void bound_of_zero_remembers_none() {
    // An operator may leave repeats of ended orders to the store altogether.
    RequestBook book(0);
    book.end(book.add(request("1")));
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), book.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RequestBookTest);

}  // namespace penstock::stock_memory
