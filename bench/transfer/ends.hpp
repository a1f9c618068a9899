// The two processes of a transfer benchmark: one has a pool of blocks, the other reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::bench {

struct Shape {
  uint32_t blocks = 64;
  size_t block_bytes = 1474560;  ///< SmolLM2: 64 tokens in F16
  int rounds = 15;
  bool tcp = true;
  bool one_by_one = false;  ///< a block is asked for where the one before has ended
};

/// Seconds of each round: for all blocks, or for a single one when they come one by one.
struct Times {
  std::vector<double> copy, checked_copy, shared_memory, tcp, raw_shared_memory, raw_tcp;
  /// One by one, each asked for by another thread, which sleeps until it is there.
  std::vector<double> from_outside;
};

/// Starts the other process, reads, and ends it. Everything is done once a round, in turn.
Times measure(const Shape& shape);

/// The other process: serves what `measure` wants over this socket.
int run_source(const Shape& shape, int socket);

}  // namespace troupe::bench
