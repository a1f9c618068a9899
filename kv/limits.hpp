// What the KV bookkeeping accepts at most, in one place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::kv::limits {

/// Workers that one cluster index follows.
inline constexpr size_t workers_max = 4096;
/// (block, worker) pairs that one cluster index keeps: about 64 bytes each, so 1 GiB.
inline constexpr size_t residences_max = size_t{16} << 20;
/// Events that a worker keeps for subscribers that are slightly behind: about 2 MiB.
inline constexpr size_t events_kept_max = 65536;

}  // namespace troupe::kv::limits
