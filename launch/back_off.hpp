// How long to wait before a dead process is started again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "launch/limits.hpp"

namespace troupe::launch {

/// Doubles from limits::back_off_first_ms to limits::back_off_max_ms; starts again from the first
/// after a life of limits::healthy_after_ms.
class BackOff {
 public:
  /// The delay before the next start, after a life that was ready for `ready_ms`.
  int64_t next_ms(int64_t ready_ms) {
    if (ready_ms >= limits::healthy_after_ms) delay_ms_ = limits::back_off_first_ms;
    const int64_t now_ms = delay_ms_;
    delay_ms_ = std::min(2 * delay_ms_, limits::back_off_max_ms);
    return now_ms;
  }

 private:
  int64_t delay_ms_ = limits::back_off_first_ms;
};

}  // namespace troupe::launch
