// What the bytes of a pack mean: a head, the matrices of a model as the kernels read them, each on
// a cache line's boundary, and a table of them at the end. Numbers are little-endian; head, table
// and every matrix have a CRC-32C. Pure: files are pack_file.hpp's and pack_writer.hpp's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/sha256.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/weight_arena.hpp"

namespace troupe::cpu {

/// Raised by any change of a panel's layout or of the order of matrices.
inline constexpr uint32_t pack_version = 1;
inline constexpr size_t pack_head_bytes = 128;
inline constexpr size_t pack_row_bytes = 32;

struct PackHead {
  ComputeMode mode = ComputeMode::fast;
  uint64_t matrices = 0;
  uint64_t table_offset = 0;  ///< the table ends with the file
  uint32_t table_checksum = 0;
  Digest weights{};  ///< Model::weights_digest of what was packed
  Digest files{};    ///< model::files_identity of where it was read from

  bool operator==(const PackHead&) const = default;
};

struct PackRow {
  PackedShape shape;
  uint64_t offset = 0;
  uint32_t checksum = 0;

  bool operator==(const PackRow&) const = default;
};

std::array<std::byte, pack_head_bytes> encode_head(const PackHead& head);
std::vector<std::byte> encode_table(std::span<const PackRow> rows);

/// `file`: all of it. Every number is checked: the table ends with the file, each matrix lies
/// behind the head and before the table. Errors: corrupt, unsupported (another version; says both).
Result<PackHead> decode_head(std::span<const std::byte> file);
Result<std::vector<PackRow>> decode_table(std::span<const std::byte> file, const PackHead& head);

}  // namespace troupe::cpu
