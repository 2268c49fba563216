// A sale's buyers, going about their business on a thread of their own while the test does its worst to
// the shop.
#pragma once

#include "load/sale.hpp"

#include <atomic>
#include <thread>

namespace penstock::fault_test {

class Crowd {
 public:
  explicit Crowd(load::SaleSettings settings);
  ~Crowd();  // sends home who is still there
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  std::size_t arrived() const { return arrived_; }
  std::size_t accepted() const { return accepted_; }
  // Blocks until everybody has come and, for a while, nobody gets any further: the shop hangs.
  void wait_stuck() const;
  // Blocks until the last accepted order has ended, and asserts that all of them have.
  const load::SaleResult& finish();
  const std::vector<load::LoggedAnswer>& answers() const { return sale_.answers(); }

 private:
  const std::size_t buyers_;
  load::Sale sale_;
  std::atomic<std::size_t> arrived_{0};
  std::atomic<std::size_t> accepted_{0};
  std::atomic<std::size_t> ended_{0};
  std::thread thread_;  // last: it uses all of the above
};

// The crowd of a normal fault test: more buyers than units, a bit of everything, over one second.
load::SaleSettings crowd_of(std::size_t buyers, const load::Target& door, const std::string& product);

}  // namespace penstock::fault_test
