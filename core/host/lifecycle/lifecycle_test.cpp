#include "host/lifecycle/lifecycle.hpp"

#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <Poco/Exception.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <future>
#include <stdexcept>

namespace penstock::host {
namespace {

// What the plugins of one test do, in order, and how the next one shall misbehave.
struct Stage {
  std::vector<std::string> steps;
  std::string bad_step;                     // "b.start"
  std::function<Result<void>()> bad_thing;  // done there
};
Stage stage;

Result<void> step(const std::string& name) {
  stage.steps.push_back(name);
  return name == stage.bad_step ? stage.bad_thing() : Result<void>{};
}

template <char Name>
class Actor : public Plugin {
 public:
  Actor() { static_cast<void>(step(named("create"))); }
  Result<void> configure(Context&) override { return step(named("configure")); }
  Result<void> start() override { return step(named("start")); }
  Result<void> stop(Deadline) override { return step(named("stop")); }

  static std::string named(const std::string& what) { return std::string(1, Name) + "." + what; }
};

template <char Name>
const PluginExport kExports{"", []() -> Plugin* { return new Actor<Name>; },
                            [](Plugin* plugin) {
                              delete plugin;
                              static_cast<void>(step(Actor<Name>::named("destroy")));
                            }};

using Steps = std::vector<std::string>;

class LifecycleTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LifecycleTest);
  CPPUNIT_TEST(plugins_start_in_order_and_end_in_reverse);
  CPPUNIT_TEST(exception_in_any_phase_becomes_an_error_that_names_the_plugin);
  CPPUNIT_TEST(error_of_a_phase_keeps_its_code);
  CPPUNIT_TEST(failed_start_is_stopped_with_those_before_it_and_nobody_else);
  CPPUNIT_TEST(failed_configure_stops_nobody_and_destroys_all);
  CPPUNIT_TEST(failed_stop_does_not_keep_the_others_from_stopping);
  CPPUNIT_TEST(promised_service_that_is_not_provided_is_an_error);
  CPPUNIT_TEST(phase_that_hangs_is_reported_at_its_deadline_with_its_culprit);
  CPPUNIT_TEST(watchdog_is_silent_about_steps_that_end_in_time);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override { stage = {}; }

  void plugins_start_in_order_and_end_in_reverse() {
    // Whoever is required must be there first and go last.
    Lifecycle lifecycle(limits_, log_, on_overrun_);
    CPPUNIT_ASSERT(lifecycle.start(two()).ok());
    CPPUNIT_ASSERT(lifecycle.stop().ok());
    CPPUNIT_ASSERT(lifecycle.stop().ok());
    const Steps expected{"a.create", "a.configure", "b.create", "b.configure", "a.start",
                         "b.start",  "b.stop",      "a.stop",   "b.destroy",   "a.destroy"};
    CPPUNIT_ASSERT(expected == stage.steps);
  }

  void exception_in_any_phase_becomes_an_error_that_names_the_plugin() {
    // One plugin's mistake must not take the process, and the log must say whose it was.
    for (const std::string phase : {"create", "configure", "start", "stop", "destroy"}) {
      stage = {{}, "b." + phase, []() -> Result<void> { throw std::runtime_error("boom"); }};
      Lifecycle lifecycle(limits_, log_, on_overrun_);
      const auto started = lifecycle.start(two());
      const auto stopped = lifecycle.stop();
      const auto& failed = started.ok() ? stopped : started;
      CPPUNIT_ASSERT_MESSAGE(phase, !failed.ok());
      CPPUNIT_ASSERT(failed.error().code == ErrorCode::Internal);
      const auto named = phase == "create" ? "configure" : phase;
      for (const auto& part : {std::string("/plugins/b.so"), "plugin b, " + named, std::string("boom"),
                               std::string("needed"), std::string("next:")}) {
        CPPUNIT_ASSERT_MESSAGE(failed.error().message + " lacks " + part,
                               failed.error().message.find(part) != std::string::npos);
      }
    }
    stage = {{}, "b.start", []() -> Result<void> { throw Poco::FileNotFoundException("x.db"); }};
    Lifecycle lifecycle(limits_, log_, on_overrun_);
    CPPUNIT_ASSERT(lifecycle.start(two()).error().message.find("x.db") != std::string::npos);
    stage = {{}, "b.start", []() -> Result<void> { throw 42; }};
    Lifecycle other(limits_, log_, on_overrun_);
    CPPUNIT_ASSERT(!other.start(two()).ok());
  }

  void error_of_a_phase_keeps_its_code() {
    // The exit status tells a script whether trying again can help.
    stage = {{}, "a.start", []() -> Result<void> {
               return Error{ErrorCode::Unavailable, "the disk is full"};
             }};
    Lifecycle lifecycle(limits_, log_, on_overrun_);
    const auto started = lifecycle.start(two());
    CPPUNIT_ASSERT(started.error().code == ErrorCode::Unavailable);
    CPPUNIT_ASSERT(started.error().message.find("the disk is full") != std::string::npos);
  }

  void failed_start_is_stopped_with_those_before_it_and_nobody_else() {
    // The failing one may have threads already; one that never started has nothing to stop.
    stage = {{}, "b.start", []() -> Result<void> { return Error{ErrorCode::Unavailable, "away"}; }};
    Lifecycle lifecycle(limits_, log_, on_overrun_);
    CPPUNIT_ASSERT(!lifecycle.start({entry<'a'>("a"), entry<'b'>("b"), entry<'c'>("c")}).ok());
    stage.steps.clear();
    CPPUNIT_ASSERT(lifecycle.stop().ok());
    CPPUNIT_ASSERT((Steps{"b.stop", "a.stop", "c.destroy", "b.destroy", "a.destroy"}) == stage.steps);
  }

  void failed_configure_stops_nobody_and_destroys_all() {
    // stop() without start() is a call no plugin expects.
    stage = {{}, "b.configure", []() -> Result<void> { return Error{ErrorCode::InvalidArgument, "no"}; }};
    Lifecycle lifecycle(limits_, log_, on_overrun_);
    CPPUNIT_ASSERT(!lifecycle.start(two()).ok());
    stage.steps.clear();
    CPPUNIT_ASSERT(lifecycle.stop().ok());
    CPPUNIT_ASSERT((Steps{"b.destroy", "a.destroy"}) == stage.steps);
  }

  void failed_stop_does_not_keep_the_others_from_stopping() {
    // The store behind it still has a database to close.
    stage = {{}, "b.stop", []() -> Result<void> { throw std::runtime_error("boom"); }};
    Lifecycle lifecycle(limits_, log_, on_overrun_);
    CPPUNIT_ASSERT(lifecycle.start(two()).ok());
    stage.steps.clear();
    CPPUNIT_ASSERT(!lifecycle.stop().ok());
    CPPUNIT_ASSERT((Steps{"b.stop", "a.stop", "b.destroy", "a.destroy"}) == stage.steps);
  }

  void promised_service_that_is_not_provided_is_an_error() {
    // Others were resolved against that promise and would find nothing.
    Lifecycle lifecycle(limits_, log_, on_overrun_);
    auto entry_without = entry<'a'>("a");
    entry_without.missing_services = [] { return std::vector<std::string>{"stock_gate"}; };
    const auto started = lifecycle.start({entry_without});
    CPPUNIT_ASSERT(!started.ok());
    CPPUNIT_ASSERT(started.error().message.find("stock_gate") != std::string::npos);
  }

  void phase_that_hangs_is_reported_at_its_deadline_with_its_culprit() {
    // A hung shutdown that says nothing is the worst page of the night.
    for (const std::string phase : {"configure", "start", "stop", "destroy"}) {
      std::promise<void> noticed;
      stage = {{}, "b." + phase, [&]() -> Result<void> {
                 CPPUNIT_ASSERT(noticed.get_future().wait_for(std::chrono::seconds(20)) ==
                                std::future_status::ready);
                 return {};
               }};
      Overrun seen;
      Lifecycle lifecycle({Milliseconds(30), Milliseconds(30), Milliseconds(30)}, log_,
                          [&](const Overrun& overrun) {
                            seen = overrun;
                            noticed.set_value();
                          });
      static_cast<void>(lifecycle.start(two()));
      static_cast<void>(lifecycle.stop());
      CPPUNIT_ASSERT_EQUAL(std::string("b"), seen.plugin);
      CPPUNIT_ASSERT_EQUAL(phase, seen.phase);
      CPPUNIT_ASSERT(seen.key.starts_with("lifecycle.") && seen.key.ends_with("_ms"));
    }
  }

  void watchdog_is_silent_about_steps_that_end_in_time() {
    // A false alarm ends a healthy process.
    std::atomic<int> alarms{0};
    Watchdog watchdog([&](const Overrun&) { ++alarms; });
    for (int i = 0; i < 1'000; ++i)
      const Watchdog::Watch watch(watchdog, {"a", "start", Milliseconds(10'000), "key"});
    std::promise<void> noticed;
    Watchdog other([&](const Overrun&) { noticed.set_value(); });
    const Watchdog::Watch watch(other, {"a", "start", Milliseconds(1), "key"});
    CPPUNIT_ASSERT(noticed.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
    CPPUNIT_ASSERT_EQUAL(0, alarms.load());
  }

 private:
  template <char Name>
  PluginEntry entry(const std::string& name) {
    return {name, "/plugins/" + name + ".so", &kExports<Name>, &context_,
            [] { return std::vector<std::string>{}; }};
  }
  std::vector<PluginEntry> two() { return {entry<'a'>("a"), entry<'b'>("b")}; }

  const LifecycleLimits limits_;
  testkit::FakeContext context_;
  testkit::RecordingLogger log_;
  const OverrunHandler on_overrun_ = [](const Overrun& overrun) {
    CPPUNIT_FAIL("overrun of " + overrun.plugin);
  };
};

CPPUNIT_TEST_SUITE_REGISTRATION(LifecycleTest);

}  // namespace
}  // namespace penstock::host
