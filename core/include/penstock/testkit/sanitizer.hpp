// Whether this build carries a sanitizer. It keeps freed memory and records beside every byte, so how much
// a process grows says nothing there; everything else is tested as always.
#pragma once

namespace penstock::testkit {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace penstock::testkit
