#include "crowd.hpp"

#include "shop.hpp"

#include "penstock/testkit/wait_until.hpp"

#include <cppunit/TestAssert.h>

#include <random>
#include <sstream>

namespace penstock::fault_test {
namespace {

constexpr auto kStuck = std::chrono::milliseconds(700);

std::string describe(const load::SaleResult& result) {
  std::ostringstream out;
  out << result.asked << " asked, " << result.accepted << " accepted, " << result.unanswered
      << " unanswered, " << result.unfinished << " unfinished";
  for (const auto& [state, count] : result.states) out << ", " << count << ' ' << state;
  for (const auto& [code, count] : result.refused) out << ", " << count << ' ' << code;
  for (const auto& contradiction : result.contradictions) out << "\n" << contradiction;
  return out.str();
}

}  // namespace

Crowd::Crowd(load::SaleSettings settings)
    : buyers_(settings.buyers), sale_(std::move(settings)), thread_([this] {
        sale_.run([this](const load::SaleResult& so_far) {
          arrived_ = so_far.asked;
          accepted_ = so_far.accepted;
          ended_ = so_far.accepted - so_far.unfinished;
        });
      }) {}

Crowd::~Crowd() {
  sale_.stop();
  if (thread_.joinable()) thread_.join();
}

void Crowd::wait_stuck() const {
  using Clock = std::chrono::steady_clock;
  auto seen = std::pair(accepted_.load(), ended_.load());
  auto since = Clock::now();
  const bool stuck = testkit::wait_until(
      [&] {
        const auto now = std::pair(accepted_.load(), ended_.load());
        if (now != seen || arrived_ < buyers_) {
          seen = now;
          since = Clock::now();
        }
        return Clock::now() - since > kStuck;
      },
      kLimit);
  CPPUNIT_ASSERT(stuck);
}

const load::SaleResult& Crowd::finish() {
  if (thread_.joinable()) thread_.join();
  const auto& result = sale_.result();
  CPPUNIT_ASSERT_MESSAGE(describe(result), result.complete());
  return result;
}

load::SaleSettings crowd_of(std::size_t buyers, const load::Target& door, const std::string& product) {
  load::SaleSettings settings;
  settings.target = door;
  settings.product = product;
  settings.buyers = buyers;
  settings.connections = 100;
  settings.pay_percent = 50;
  settings.cancel_percent = 30;
  settings.seed = std::random_device{}();
  settings.arrival = std::chrono::seconds(1);
  settings.answer_limit = std::chrono::seconds(3);
  settings.max_back_off = std::chrono::milliseconds(300);
  settings.deadline = kLimit;
  return settings;
}

}  // namespace penstock::fault_test
