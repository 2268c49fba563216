// SessionPool: a bounded number of sessions, given out in the order of asking.
//
// Waiting happens here, fairly and asleep, so that the threads of one process never meet each other at
// the engine's own lock, where SQLite would poll and let luck decide. Thread-safe.
#pragma once

#include "sql/session.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace penstock::sql {

class SessionPool {
 public:
  SessionPool(const Dialect& dialect, const Settings& settings, std::size_t size);

  // A session for one unit of work; goes back when destroyed. A broken one is closed instead.
  class Lease {
   public:
    Lease(SessionPool& pool, std::unique_ptr<Session> session) : pool_(pool), session_(std::move(session)) {}
    ~Lease() { pool_.give_back(std::move(session_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    // Opens the session at first use. Throws Failure.
    Session& session();

   private:
    SessionPool& pool_;
    std::unique_ptr<Session> session_;
  };

  // Null when none became free within the settings' session_wait.
  std::unique_ptr<Lease> acquire();
  // How many are waiting for a session now.
  std::size_t waiting() const;

 private:
  struct Waiter {
    std::condition_variable given;
    bool has_slot = false;
    std::unique_ptr<Session> session;
  };
  using Slot = std::unique_ptr<Session>;  // null: the right to open one

  bool wait_for_slot(std::unique_lock<std::mutex>& lock, Waiter& waiter);
  void give_back(Slot slot);

  const Dialect& dialect_;
  const Settings settings_;
  mutable std::mutex mutex_;
  std::vector<Slot> free_;
  std::deque<Waiter*> waiting_;
};

}  // namespace penstock::sql
