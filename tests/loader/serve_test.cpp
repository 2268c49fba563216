// The life of a serving process: its plugins' phases, its signals, its exit statuses.
#include "bench.hpp"

#include "penstock/json.hpp"
#include "penstock/testkit/wait_until.hpp"

#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/StreamCopier.h>
#include <cppunit/extensions/HelperMacros.h>

#include <signal.h>

#include <sstream>

namespace penstock::loader_test {
namespace {

constexpr auto kLimit = std::chrono::seconds(60);

struct Answer {
  int status = 0;
  std::string body;
};

Answer get(std::uint16_t port, const std::string& path) {
  Poco::Net::HTTPClientSession session("127.0.0.1", port);
  session.setTimeout(Poco::Timespan(20, 0));
  Poco::Net::HTTPRequest request(Poco::Net::HTTPRequest::HTTP_GET, path, Poco::Net::HTTPMessage::HTTP_1_1);
  session.sendRequest(request);
  Poco::Net::HTTPResponse response;
  Answer answer;
  Poco::StreamCopier::copyToString(session.receiveResponse(response), answer.body);
  answer.status = response.getStatus();
  return answer;
}

class ServeTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServeTest);
  CPPUNIT_TEST(good_plugin_goes_through_its_whole_life);
  CPPUNIT_TEST(sighup_does_not_end_the_process);
  CPPUNIT_TEST(interrupt_ends_like_terminate);
  CPPUNIT_TEST(readiness_turns_503_before_the_listeners_close);
  CPPUNIT_TEST(exception_in_each_phase_is_told_and_the_others_are_stopped);
  CPPUNIT_TEST(dependency_that_is_away_has_an_exit_status_of_its_own);
  CPPUNIT_TEST(promised_service_that_is_missing_is_told);
  CPPUNIT_TEST(hang_in_each_phase_ends_the_process_at_its_deadline);
  CPPUNIT_TEST(hang_beyond_the_whole_shutdown_ends_the_process);
  CPPUNIT_TEST(second_signal_ends_the_process_at_once);
  CPPUNIT_TEST(port_in_use_names_address_and_key);
  CPPUNIT_TEST(data_folder_that_cannot_be_made_is_told);
  CPPUNIT_TEST(armed_fail_points_are_logged_and_wrong_ones_refused);
  CPPUNIT_TEST(json_log_is_json_line_by_line);
  CPPUNIT_TEST(broken_configuration_prints_all_its_errors_and_exits_2);
  CPPUNIT_TEST(header_identity_beyond_loopback_is_refused_unless_asked_for);
  CPPUNIT_TEST(describe_shows_every_key);
  CPPUNIT_TEST_SUITE_END();

 public:
  void good_plugin_goes_through_its_whole_life() {
    // Everything a plugin may use works in the real process, and it ends clean.
    serve("plugins = good\ngood.greeting = hi\ngood.names = x, y, z\n");
    CPPUNIT_ASSERT_EQUAL(std::string("hi/5/50/calm/quiet/3//header"), get(public_port_, "/greeting").body);
    const auto ready = get(operator_port_, "/health/ready");
    CPPUNIT_ASSERT_EQUAL(200, ready.status);
    CPPUNIT_ASSERT(ready.body.find("{\"name\":\"greeter\",\"plugin\":\"good\",\"status\":\"ready\"}") !=
                   std::string::npos);
    CPPUNIT_ASSERT_EQUAL(200, get(operator_port_, "/health/live").status);
    CPPUNIT_ASSERT_EQUAL(404, get(public_port_, "/health/live").status);
    process_->signal(SIGTERM);
    expect_exit(0);
    CPPUNIT_ASSERT_EQUAL(std::string("configure\nstart\nstop\ndestroy\n"), bench_.life());
    assert_line(process_->err(), {"info greeter_started plugin=good random=yes"});
    assert_line(process_->err(), {"info stopped clean=true"});
  }

  void sighup_does_not_end_the_process() {
    // A closed terminal or a log rotation must not stop a sale.
    serve("plugins = good\n");
    process_->signal(SIGHUP);
    process_->signal(SIGUSR1);
    CPPUNIT_ASSERT(
        testkit::wait_until([&] { return process_->err().find("signal_ignored") != std::string::npos; }));
    CPPUNIT_ASSERT_EQUAL(200, get(operator_port_, "/health/ready").status);
    process_->signal(SIGTERM);
    expect_exit(0);
  }

  void interrupt_ends_like_terminate() {
    // Ctrl-C in a terminal is the newcomer's SIGTERM.
    serve("plugins = good\n");
    process_->signal(SIGINT);
    expect_exit(0);
    CPPUNIT_ASSERT(bench_.life().ends_with("stop\ndestroy\n"));
  }

  void readiness_turns_503_before_the_listeners_close() {
    // A balancer needs to see it while requests are still served.
    serve("plugins = good\nlifecycle.drain_delay_ms = 30000\nlifecycle.drain_ms = 60000\n");
    process_->signal(SIGTERM);
    CPPUNIT_ASSERT(testkit::wait_until([&] { return get(operator_port_, "/health/ready").status == 503; }));
    CPPUNIT_ASSERT(get(operator_port_, "/health/ready").body.find("shutting down") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(200, get(public_port_, "/greeting").status);
    CPPUNIT_ASSERT_EQUAL(200, get(operator_port_, "/health/live").status);
  }

  void exception_in_each_phase_is_told_and_the_others_are_stopped() {
    // One plugin's mistake must not leave another's work half done.
    for (const std::string phase : {"configure", "start", "stop", "destroy"}) {
      std::filesystem::remove_all(bench_.root() / "data");
      const bool starts = phase == "stop" || phase == "destroy";
      if (starts)
        serve(unruly(phase, "throw"));
      else
        launch(unruly(phase, "throw"));
      if (starts) process_->signal(SIGTERM);
      expect_exit(4);
      assert_line(process_->err(), {"error", "unruly.so", "plugin unruly, " + phase, "boom in " + phase,
                                    "needed a phase that answers", "next: "});
      CPPUNIT_ASSERT_EQUAL(
          std::string(phase == "configure" ? "configure\ndestroy\n" : "configure\nstart\nstop\ndestroy\n"),
          bench_.life());
    }
  }

  void dependency_that_is_away_has_an_exit_status_of_its_own() {
    // A service manager tries again; a person need not come.
    launch(unruly("start", "fail"));
    expect_exit(3);
    assert_line(process_->err(),
                {"unruly.so", "the thing needed in start is away", "next: see to it, then try again"});
    CPPUNIT_ASSERT(bench_.life().ends_with("stop\ndestroy\n"));
  }

  void promised_service_that_is_missing_is_told() {
    // The resolution relied on the manifest.
    launch(unruly("provide", "throw"));
    expect_exit(4);
    assert_line(process_->err(),
                {"unruly.so", "no service trouble", "needed a call of provide()", "next: report this"});
  }

  void hang_in_each_phase_ends_the_process_at_its_deadline() {
    // Nothing is worse than a process that neither works nor ends.
    for (const std::string phase : {"configure", "start", "stop", "destroy"}) {
      const auto limits =
          "lifecycle.configure_ms = 2000\nlifecycle.start_ms = 2000\nlifecycle.stop_ms = 2000\n";
      const bool starts = phase == "stop" || phase == "destroy";
      if (starts)
        serve(unruly(phase, "hang") + limits);
      else
        launch(unruly(phase, "hang") + limits);
      if (starts) process_->signal(SIGTERM);
      expect_exit(5);
      assert_line(process_->err(), {"plugin_overrun", "plugin=unruly", "phase=" + phase, "allowed_ms=2000",
                                    "raise lifecycle."});
    }
  }

  void hang_beyond_the_whole_shutdown_ends_the_process() {
    // Generous limits for single plugins must not add up to for ever.
    serve(unruly("stop", "hang") + "lifecycle.stop_ms = 600000\nlifecycle.drain_ms = 500\n");
    process_->signal(SIGTERM);
    expect_exit(5);
    assert_line(process_->err(), {"shutdown_overrun", "allowed_ms=500", "lifecycle.drain_ms"});
  }

  void second_signal_ends_the_process_at_once() {
    // Who presses Ctrl-C twice means it.
    serve(unruly("stop", "hang") + "lifecycle.stop_ms = 600000\nlifecycle.drain_ms = 600000\n");
    process_->signal(SIGTERM);
    CPPUNIT_ASSERT(
        testkit::wait_until([&] { return process_->err().find("shutdown_requested") != std::string::npos; }));
    process_->signal(SIGTERM);
    expect_exit(128 + SIGTERM);
    assert_line(process_->err(), {"second_signal"});
  }

  void port_in_use_names_address_and_key() {
    // The other process is usually an older one of our own.
    Poco::Net::ServerSocket taken(Poco::Net::SocketAddress("127.0.0.1", 0));
    const auto port = std::to_string(taken.address().port());
    install("plugins = good\n");
    process_ = bench_.start({"serve", "--set", "http.public.port=" + port});
    expect_exit(3);
    assert_line(process_->err(), {"start_failed", "127.0.0.1", port, "http.public"});
    CPPUNIT_ASSERT_EQUAL(std::string(), bench_.life());
  }

  void data_folder_that_cannot_be_made_is_told() {
    // Found before a plugin fails in a way of its own.
    install("plugins = good\n");
    process_ = bench_.start({"serve", "--set", "data.dir=" + bench_.configuration().string()});
    expect_exit(3);
    assert_line(process_->err(), {"data.dir", "test.properties", "needed a folder", "next: create it"});
  }

  void armed_fail_points_are_logged_and_wrong_ones_refused() {
    // Nobody may wonder why a process kills itself.
    serve("plugins = good\n", {"PENSTOCK_FAILPOINTS=intake.after_reserve=delay:5"});
    assert_line(process_->err(), {"warn fail_point_armed", "intake.after_reserve"});
    process_.reset();
    process_ = bench_.start({"serve"}, {"PENSTOCK_FAILPOINTS=no.such.point=kill"});
    expect_exit(2);
    assert_line(process_->err(), {"no.such.point"});
  }

  void json_log_is_json_line_by_line() {
    // A shipper that meets one other line drops or duplicates it.
    serve("plugins = good\nlog.format = json\n");
    process_->signal(SIGTERM);
    expect_exit(0);
    std::istringstream lines(process_->err());
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      const auto parsed = json::parse(line);
      CPPUNIT_ASSERT_MESSAGE(line, parsed.ok());
      for (const auto* member : {"time", "level", "event"})
        CPPUNIT_ASSERT_MESSAGE(line, parsed->find(member));
    }
    CPPUNIT_ASSERT(count >= 5);
  }

  void broken_configuration_prints_all_its_errors_and_exits_2() {
    // The first thing an operator does with a new file.
    install("plugins = good\ngood.batch = many\nhttp.public.port = 80800\nlog.format = xml\n${oops} = 1\n");
    const auto text = bench_.run({"check"}, 2);
    assert_line(text, {"error: ", "test.properties:6", "good.batch", "\"many\"", "from 1 to 10"});
    assert_line(text, {"test.properties:7", "http.public.port", "a second time", "line 3"});
    assert_line(text, {"test.properties:8", "log.format", "\"xml\"", "one of text, json"});
    assert_line(text, {"test.properties:9", "${oops}", "an unknown key"});
    const auto json_text = bench_.start({"check", "--json"});
    CPPUNIT_ASSERT_EQUAL(2, json_text->wait(kLimit));
    const auto parsed = json::parse(json_text->out());
    CPPUNIT_ASSERT_MESSAGE(json_text->out(), parsed.ok());
    CPPUNIT_ASSERT(parsed->find("problems")->as_array()->size() >= 4);
  }

  void header_identity_beyond_loopback_is_refused_unless_asked_for() {
    // Anybody on the network could order in anybody's name.
    install("plugins = good\n");
    process_ = bench_.start({"check", "--set", "http.public.host=0.0.0.0"});
    expect_exit(2);
    assert_line(process_->err(), {"--set", "http.public.host", "\"0.0.0.0\"", "needed a loopback address",
                                  "auth.header_from_network"});
    process_ = bench_.start(
        {"check", "--set", "http.public.host=0.0.0.0", "--set", "auth.header_from_network=true"});
    expect_exit(0);
  }

  void describe_shows_every_key() {
    // The reference page is made from this.
    install("plugins = good\n");
    process_ = bench_.start({"describe", "good"});
    expect_exit(0);
    assert_line(process_->out(), {"integer: an integer from 1 to 10; default 5"});
    assert_line(process_->out(), {"choice: one of calm, busy; default calm"});
    process_ = bench_.start({"describe", "good", "--json"});
    expect_exit(0);
    CPPUNIT_ASSERT_EQUAL(std::size_t{7}, json::parse(process_->out())->find("keys")->as_array()->size());
    process_ = bench_.start({"describe", "god"});
    expect_exit(2);
    assert_line(process_->err(), {"no plugin \"god\"", "did you mean good?"});
  }

 private:
  static std::string unruly(const std::string& phase, const std::string& act) {
    return "plugins = good, unruly\nunruly.phase = " + phase + "\nunruly.act = " + act + "\n";
  }

  void install(const std::string& settings) {
    if (!std::filesystem::exists(bench_.plugin("good.json"))) {
      bench_.install("good", "good");
      bench_.install("unruly", "unruly");
    }
    bench_.configure(settings);
  }

  void launch(const std::string& settings, const std::vector<std::string>& environment = {}) {
    install(settings);
    process_.reset();
    process_ = bench_.start({"serve"}, environment);
  }

  // Waits first, so that the message has all of the log.
  void expect_exit(int status) {
    const int found = process_->wait(kLimit);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(process_->err(), status, found);
  }

  // Returns when it serves.
  void serve(const std::string& settings, const std::vector<std::string>& environment = {}) {
    launch(settings, environment);
    const auto serves = [&] {
      return process_->err().find(" serving ") != std::string::npos ||
             process_->err().find("\"serving\"") != std::string::npos;
    };
    const bool reached = testkit::wait_until([&] { return serves() || !process_->running(); }, kLimit);
    CPPUNIT_ASSERT_MESSAGE(process_->err(), reached && serves());
    const auto text = process_->err();
    public_port_ = port_after(text, "public");
    operator_port_ = port_after(text, "operator");
  }

  static std::uint16_t port_after(const std::string& text, const std::string& listener) {
    const auto at = text.find("127.0.0.1:", text.find(listener, text.find("serving")));
    return static_cast<std::uint16_t>(std::stoi(text.substr(at + 10)));
  }

  Bench bench_;
  std::unique_ptr<testkit::Process> process_;
  std::uint16_t public_port_ = 0;
  std::uint16_t operator_port_ = 0;
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServeTest);

}  // namespace
}  // namespace penstock::loader_test
