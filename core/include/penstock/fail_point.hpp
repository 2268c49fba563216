// Fail points: named places in every window of the pipeline where a test can make the process fail.
//
// They are compiled into every build and cost one relaxed load while disarmed. They are armed only by
// the environment variable PENSTOCK_FAILPOINTS, read once at start:
//
//   PENSTOCK_FAILPOINTS='intake.after_reserve=kill@3,outbox.after_lease=delay:200'
//
//   kill        _exit(137) at once: nothing is flushed, no destructor runs
//   hang        never returns
//   fail        FAIL_POINT's caller gets ErrorCode::Unavailable
//   delay:MS    sleeps
//   @N          only on the N-th pass through the point (counted from 1); without it, on every pass
#pragma once

#include "penstock/result.hpp"

#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::fail_point {

// Every point of the product, in the order in which one order meets them. A point that is not listed
// here cannot be hit or armed, so a test over this list covers every window there is.
inline constexpr std::string_view kNames[] = {
    "intake.after_reserve",         // the gate holds stock, the store knows nothing
    "store.accept.in_transaction",  // order and outbox rows written, not committed
    "intake.after_accept",          // committed, the client has no answer yet
    "outbox.after_lease",           // rows leased, nothing published
    "outbox.after_publish",         // the transport confirmed, the rows are not marked
    "store.lock.in_transaction",    // stock locked, not committed
    "consumer.after_lock",          // committed, the delivery is not settled
    "store.pay.in_transaction",    "store.cancel.in_transaction",
    "timeout.after_expire",      // cancelled and committed, the delivery is not settled
    "gate.before_release",       // the release event was delivered, the gate has not heard of it
    "gate.after_release",        // the gate released, the delivery is not settled
    "gate.after_confirm",        // the gate confirmed, the delivery is not settled
    "reconciler.mid_rebuild",    // the gate is closed, the image is read, not installed
    "reconciler.after_abandon",  // the orphan's number is tombstoned, its hold not yet released
};

// Reads PENSTOCK_FAILPOINTS. Errors: InvalidArgument names the entry, what was found and allowed.
Result<void> arm_from_environment();

// The armed points, for the log line at start.
std::vector<std::string> armed();

extern std::atomic<bool> any_armed;

// Acts as armed. Result is an error only for the action `fail`. An unlisted name asserts.
Result<void> hit_slow(std::string_view name);

inline Result<void> hit(std::string_view name) {
  if (!any_armed.load(std::memory_order_relaxed)) return {};
  return hit_slow(name);
}

}  // namespace penstock::fail_point
