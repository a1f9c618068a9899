#include "cpu/weight_arena.hpp"

#include <algorithm>

namespace troupe::cpu {

Result<uint8_t*> MemoryArena::take(const PackedShape& shape) {
  const size_t bytes = whole_lines(shape.bytes);
  if (regions_.empty() || regions_.back().bytes - used_ < bytes) {
    TROUPE_ASSIGN(kv::Region region, kv::allocate_region(std::max(bytes, arena_region_bytes)));
    regions_.push_back(std::move(region));
    used_ = 0;
  }
  auto* memory = reinterpret_cast<uint8_t*>(regions_.back().data) + used_;
  used_ += bytes;
  return memory;
}

}  // namespace troupe::cpu
