// CPU time, which other programs on the machine change less than time on the clock.
#pragma once

#include <ctime>

namespace troupe::bench {

inline double clock_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Of this thread, in seconds.
inline double thread_cpu_s() {
  return clock_s(CLOCK_THREAD_CPUTIME_ID);
}
/// Of the whole process, in seconds.
inline double process_cpu_s() {
  return clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace troupe::bench
