// Where packed weights lie: in this process's own memory, or in a file that processes share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "kv/region.hpp"

namespace troupe::cpu {

/// What a matrix is once it is packed.
struct PackedShape {
  uint32_t rows = 0;
  uint32_t cols = 0;
  uint32_t type = 0;  ///< model::TensorType that its panels were made from
  uint64_t bytes = 0;

  bool operator==(const PackedShape&) const = default;
};

/// Gives places to the matrices of a model, which come in an order of their own. The places live as
/// long as the arena.
class WeightArena {
 public:
  virtual ~WeightArena() = default;
  /// True: the matrices are there and only to be read; else zeroes are.
  [[nodiscard]] virtual bool is_packed() const { return false; }
  /// Memory on a cache line's boundary. Errors: exhausted, corrupt (another matrix is there than is
  /// asked for).
  virtual Result<uint8_t*> take(const PackedShape& shape) = 0;
};

/// Bytes up to the next cache line.
inline constexpr size_t line_bytes = 64;
constexpr size_t whole_lines(size_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}
/// What arenas ask the system for at once, at least.
inline constexpr size_t arena_region_bytes = size_t{32} << 20;

/// A few large mappings on huge pages where the system has them, because decode reads all weights
/// for each token and would otherwise miss the TLB on every page.
class MemoryArena final : public WeightArena {
 public:
  Result<uint8_t*> take(const PackedShape& shape) override;

 private:
  std::vector<kv::Region> regions_;
  size_t used_ = 0;  ///< bytes of the last region
};

}  // namespace troupe::cpu
