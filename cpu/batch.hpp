// What one forward pass computes: tokens of several sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kv/layout.hpp"
#include "kv/region.hpp"

namespace troupe::cpu {

/// Consecutive tokens of one sequence inside a batch.
struct BatchSpan {
  uint32_t first_token = 0;  ///< index in the batch
  uint32_t num_tokens = 0;
  uint32_t first_position = 0;
  const kv::PageId* block_table = nullptr;  ///< [layer group][num_blocks]
  uint32_t num_blocks = 0;
  bool write_kv = true;

  /// Pages of one layer group.
  [[nodiscard]] const kv::PageId* pages(uint32_t group) const {
    return block_table + size_t{group} * num_blocks;
  }
};

struct Batch {
  std::vector<int32_t> ids;  ///< [tokens]
  std::vector<BatchSpan> spans;
};

}  // namespace troupe::cpu
