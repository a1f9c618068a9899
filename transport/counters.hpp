// Counters that the UCX thread adds to and any thread reads. Internal to this folder.
#pragma once

#include <atomic>
#include <cstdint>

namespace troupe::transport {

struct Counters {
  using Counter = std::atomic<uint64_t>;
  Counter reads_started{0};
  Counter reads_done{0};
  Counter reads_failed{0};
  Counter checksum_failures{0};
  Counter reads_timed_out{0};
  Counter reads_cancelled{0};
  Counter bytes_by_path[3]{};  ///< index: Path
  Counter blocks_served{0};
  Counter bytes_served{0};
  Counter wants_refused{0};
  Counter frames_dropped{0};
  Counter peers_lost{0};
  Counter connections_refused{0};
};

}  // namespace troupe::transport
