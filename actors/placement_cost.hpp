// The cost model of placement: what work takes on a worker of a given profile, in microseconds.
#pragma once

#include <cstdint>

namespace troupe::actors {

/// Measured when the worker started.
struct DeviceProfile {
  double prefill_us_per_token = 0;                ///< at position 0
  double attention_ns_per_token_per_context = 0;  ///< for each token before it
  double decode_us_per_step = 0;                  ///< of one sequence
  double transfer_bytes_per_us = 0;               ///< 1000 = 1 GB/s
};

/// Finite, nothing negative, and the two that are divided by or that decide are positive.
bool plausible(const DeviceProfile& profile);

/// Tokens [begin, end) of one sequence.
struct TokenRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Time to compute the tokens of a range: linear in their number, and for each token linear in its
/// position, so a thousand tokens at position 190 000 are not a thousand at 0.
double work_us(const DeviceProfile& profile, TokenRange range);

/// Time to read blocks from one worker into another: the slower end decides.
double fetch_us(const DeviceProfile& from, const DeviceProfile& to, uint64_t bytes);

/// What one more sequence costs the others and itself: each of its steps is longer by the steps of
/// the `running` ones it shares the device with.
double crowding_us(const DeviceProfile& profile, uint32_t running, uint32_t max_tokens);

/// Work that is lost when `blocks` cached blocks make room.
double eviction_us(const DeviceProfile& profile, uint64_t blocks, uint32_t tokens_per_block);

}  // namespace troupe::actors
