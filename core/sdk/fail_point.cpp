#include "penstock/fail_point.hpp"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <thread>

namespace penstock::fail_point {
namespace {

enum class Action { Kill, Hang, Fail, Delay };

struct Armed {
  std::string name;
  std::string text;  // as it was written
  Action action = Action::Fail;
  std::chrono::milliseconds delay{0};
  std::uint64_t only_pass = 0;  // 0: every pass
  std::atomic<std::uint64_t> passes{0};
};

// Written once before any thread reads it: arming happens at start.
std::deque<Armed>& points() {
  static std::deque<Armed> armed_points;
  return armed_points;
}

bool is_listed(std::string_view name) {
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Error refuse(std::string_view entry, const std::string& why) {
  return {ErrorCode::InvalidArgument, "PENSTOCK_FAILPOINTS: entry '" + std::string(entry) + "': " + why};
}

bool parse_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

Result<void> parse_action(std::string_view entry, std::string_view action, Armed& armed) {
  const auto colon = action.find(':');
  const auto verb = action.substr(0, colon);
  if (verb == "delay") {
    std::uint64_t ms = 0;
    if (colon == std::string_view::npos || !parse_number(action.substr(colon + 1), ms)) {
      return refuse(entry, "delay needs its milliseconds, as in delay:200");
    }
    armed.action = Action::Delay;
    armed.delay = std::chrono::milliseconds(ms);
    return {};
  }
  if (verb == "kill")
    armed.action = Action::Kill;
  else if (verb == "hang")
    armed.action = Action::Hang;
  else if (verb == "fail")
    armed.action = Action::Fail;
  else
    return refuse(entry, "unknown action; allowed: kill, hang, fail, delay:MS");
  if (colon != std::string_view::npos) return refuse(entry, "only delay takes an argument");
  return {};
}

// name=action[:argument][@pass]
Result<void> arm(std::string_view entry) {
  const auto equals = entry.find('=');
  if (equals == std::string_view::npos) return refuse(entry, "expected name=action");
  const auto name = entry.substr(0, equals);
  if (!is_listed(name)) return refuse(entry, "no such fail point; penstock/fail_point.hpp lists them");
  auto action = entry.substr(equals + 1);

  auto& armed = points().emplace_back();
  armed.name = name;
  armed.text = entry;
  if (const auto at = action.find('@'); at != std::string_view::npos) {
    if (!parse_number(action.substr(at + 1), armed.only_pass) || armed.only_pass == 0) {
      return refuse(entry, "@ needs the number of a pass, counted from 1");
    }
    action = action.substr(0, at);
  }
  return parse_action(entry, action, armed);
}

Result<void> act(const Armed& armed) {
  switch (armed.action) {
    case Action::Kill: _exit(137);
    case Action::Hang:
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    case Action::Delay: std::this_thread::sleep_for(armed.delay); return {};
    case Action::Fail: return Error{ErrorCode::Unavailable, "fail point " + armed.name + " is armed to fail"};
  }
  return {};
}

}  // namespace

std::atomic<bool> any_armed{false};

Result<void> arm_from_environment() {
  any_armed = false;
  points().clear();
  const char* variable = std::getenv("PENSTOCK_FAILPOINTS");
  std::string_view rest = variable ? variable : "";
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    if (auto armed_one = arm(rest.substr(0, comma)); !armed_one) {
      points().clear();
      return armed_one;
    }
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  any_armed = !points().empty();
  return {};
}

std::vector<std::string> armed() {
  std::vector<std::string> texts;
  for (const auto& point : points()) texts.push_back(point.text);
  return texts;
}

Result<void> hit_slow(std::string_view name) {
  assert(is_listed(name) && "a fail point must stand in kNames");
  for (auto& point : points()) {
    if (point.name != name) continue;
    const auto pass = point.passes.fetch_add(1) + 1;
    if (point.only_pass != 0 && point.only_pass != pass) continue;
    if (auto acted = act(point); !acted) return acted;
  }
  return {};
}

}  // namespace penstock::fail_point
