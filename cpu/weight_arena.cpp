#include "cpu/weight_arena.hpp"

#include <algorithm>

namespace troupe::cpu {
namespace {

constexpr size_t region_bytes_min = size_t{32} << 20;
constexpr size_t line_bytes = 64;

}  // namespace

Result<uint8_t*> WeightArena::take(size_t bytes) {
  bytes = (bytes + line_bytes - 1) / line_bytes * line_bytes;
  if (regions_.empty() || regions_.back().bytes - used_ < bytes) {
    TROUPE_ASSIGN(kv::Region region, kv::allocate_region(std::max(bytes, region_bytes_min)));
    regions_.push_back(std::move(region));
    used_ = 0;
  }
  auto* memory = reinterpret_cast<uint8_t*>(regions_.back().data) + used_;
  used_ += bytes;
  return memory;
}

}  // namespace troupe::cpu
