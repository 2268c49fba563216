#include "host/context/system_clock.hpp"

#include <sys/random.h>

#include <cassert>
#include <cerrno>

namespace penstock::host {
namespace {

void fill(void* into, std::size_t size) {
  auto* at = static_cast<std::byte*>(into);
  while (size > 0) {
    const auto got = ::getrandom(at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    assert(got > 0);
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace

std::uint64_t SystemRandom::next() {
  const std::lock_guard lock(mutex_);
  if (used_ == block_.size()) {
    fill(block_.data(), sizeof block_);
    used_ = 0;
  }
  return block_[used_++];
}

}  // namespace penstock::host
