// Time as the logic sees it: monotonic microseconds from a clock that tests can replace.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace troupe {

/// Monotonic microseconds since an arbitrary start.
using TimeUs = int64_t;

using Clock = TimeUs (*)();

inline TimeUs steady_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

/// What now_us() reads, in the whole process. A simulation puts its own clock here before it starts
/// anything else.
inline std::atomic<Clock> process_clock{&steady_us};

inline TimeUs now_us() {
  return process_clock.load(std::memory_order_relaxed)();
}

}  // namespace troupe
