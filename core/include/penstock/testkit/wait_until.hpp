// Waiting without sleeping: polls a condition until it holds or the deadline passes.
#pragma once

#include <chrono>
#include <functional>

namespace penstock::testkit {

// True as soon as `condition` holds; false when it did not within `limit`.
bool wait_until(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::seconds(10));

}  // namespace penstock::testkit
