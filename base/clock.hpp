// Time as the logic sees it: monotonic microseconds from a clock that tests can replace.
#pragma once

#include <chrono>
#include <cstdint>

namespace troupe {

/// Monotonic microseconds since an arbitrary start.
using TimeUs = int64_t;

inline TimeUs now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace troupe
