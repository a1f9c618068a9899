// What the simulated device keeps in a token's KV slot: the token and a hash of everything up to
// it, in K, and a seal over both and the position, in V.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "kv/layout.hpp"
#include "kv/region.hpp"

namespace troupe::engine {

/// A good 64-bit mix of two values.
uint64_t sim_mix(uint64_t a, uint64_t b);

class SimSlots {
 public:
  struct Slot {
    uint64_t chain = 0;  ///< hash of tokens [0, position]
    int32_t token = 0;
  };

  SimSlots(kv::Region region, kv::KvLayout layout) : region_(region), layout_(layout) {}

  [[nodiscard]] size_t num_pages() const { return region_.bytes / layout_.block_bytes(); }

  /// The chain hash of `token` at `position` behind a chain.
  static uint64_t link(uint64_t parent, int32_t token, uint32_t position);

  void write(std::span<const kv::PageId> table, uint32_t position, const Slot& slot);
  /// Errors: corrupt, when no token of this position was written there or it was damaged.
  [[nodiscard]] Result<Slot> read(std::span<const kv::PageId> table, uint32_t position) const;

 private:
  [[nodiscard]] std::byte* block(std::span<const kv::PageId> table, uint32_t position) const;
  /// Bytes from the block to word `dim` of the K, or V, of its `token`.
  [[nodiscard]] size_t k_at(size_t dim, size_t token) const;
  [[nodiscard]] size_t v_at(size_t dim, size_t token) const;

  kv::Region region_;
  kv::KvLayout layout_;
};

}  // namespace troupe::engine
