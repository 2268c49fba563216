#include "penstock/fail_point.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace penstock::fail_point {

class FailPointTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FailPointTest);
  CPPUNIT_TEST(unarmed_points_do_nothing);
  CPPUNIT_TEST(fail_acts_on_the_chosen_pass_only);
  CPPUNIT_TEST(without_a_pass_every_pass_fails);
  CPPUNIT_TEST(kill_ends_the_process_with_137);
  CPPUNIT_TEST(a_bad_entry_arms_nothing_and_names_itself);
  CPPUNIT_TEST_SUITE_END();

 public:
  void tearDown() override {
    unsetenv("PENSTOCK_FAILPOINTS");
    CPPUNIT_ASSERT(arm_from_environment().ok());
  }

  void unarmed_points_do_nothing() {
    // Production runs with all points compiled in.
    CPPUNIT_ASSERT(arm("").ok());
    CPPUNIT_ASSERT(armed().empty());
    for (const auto name : kNames) CPPUNIT_ASSERT(hit(name).ok());
  }

  void fail_acts_on_the_chosen_pass_only() {
    // Tests aim at one order among many.
    CPPUNIT_ASSERT(arm("intake.after_reserve=fail@2").ok());
    CPPUNIT_ASSERT(hit("intake.after_reserve").ok());
    const auto second = hit("intake.after_reserve");
    CPPUNIT_ASSERT(!second.ok());
    CPPUNIT_ASSERT(second.error().code == ErrorCode::Unavailable);
    CPPUNIT_ASSERT(hit("intake.after_reserve").ok());
    CPPUNIT_ASSERT(hit("outbox.after_lease").ok());
  }

  void without_a_pass_every_pass_fails() {
    // A dependency that is away fails every call.
    CPPUNIT_ASSERT(arm("outbox.after_lease=fail,gate.after_release=delay:1").ok());
    CPPUNIT_ASSERT(!hit("outbox.after_lease").ok());
    CPPUNIT_ASSERT(!hit("outbox.after_lease").ok());
    CPPUNIT_ASSERT(hit("gate.after_release").ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, armed().size());
  }

  void kill_ends_the_process_with_137() {
    // Like a power cut: no destructor, no flush.
    CPPUNIT_ASSERT(arm("outbox.after_publish=kill").ok());
    const pid_t child = fork();
    if (child == 0) {
      static_cast<void>(hit("outbox.after_publish"));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CPPUNIT_ASSERT(WIFEXITED(status));
    CPPUNIT_ASSERT_EQUAL(137, WEXITSTATUS(status));
  }

  void a_bad_entry_arms_nothing_and_names_itself() {
    // A typing error must not let a fault test pass without its fault.
    for (const std::string entry :
         {"no.such.point=kill", "intake.after_reserve", "intake.after_reserve=explode",
          "intake.after_reserve=kill@0", "intake.after_reserve=delay", "intake.after_reserve=delay:soon",
          "intake.after_reserve=kill:3"}) {
      const auto refused = arm(("outbox.after_lease=fail," + entry).c_str());
      CPPUNIT_ASSERT_MESSAGE(entry, !refused.ok());
      CPPUNIT_ASSERT_MESSAGE(refused.error().message,
                             refused.error().message.find(entry) != std::string::npos);
      CPPUNIT_ASSERT(hit("outbox.after_lease").ok());
    }
  }

 private:
  static Result<void> arm(const char* text) {
    setenv("PENSTOCK_FAILPOINTS", text, 1);
    return arm_from_environment();
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(FailPointTest);

}  // namespace penstock::fail_point
