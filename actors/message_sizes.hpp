// How large the messages are that this process sent to others: a rule that nobody counts is none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace troupe::actors {

namespace detail {
inline std::atomic<uint64_t> largest_message_bytes{0};
}  // namespace detail

/// From any thread.
inline void note_message(size_t bytes) {
  uint64_t largest = detail::largest_message_bytes.load(std::memory_order_relaxed);
  while (bytes > largest && !detail::largest_message_bytes.compare_exchange_weak(
                                largest, bytes, std::memory_order_relaxed)) {
  }
}

/// Of all since the process started.
inline uint64_t largest_message_bytes() {
  return detail::largest_message_bytes.load(std::memory_order_relaxed);
}

}  // namespace troupe::actors
