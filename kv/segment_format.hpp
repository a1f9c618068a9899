// What the bytes of a segment file mean: a head, a table that is written when the segment is full,
// and records of equal size, each a head and the block's bytes. Everything begins at a multiple of
// a disk page, numbers are little-endian, and every part has a CRC-32C of its own: what was not
// written whole is not there. Pure: files are segment_file.hpp's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/sha256.hpp"
#include "kv/block_name.hpp"

namespace troupe::kv {

inline constexpr uint32_t segment_version = 1;
/// What O_DIRECT aligns to wherever it works.
inline constexpr size_t disk_page_bytes = 4096;

/// Aligned for O_DIRECT.
struct alignas(disk_page_bytes) DiskPage {
  std::array<std::byte, disk_page_bytes> bytes{};
};

/// Rounded up.
size_t whole_pages(size_t bytes);

/// The first page of a segment.
struct SegmentHead {
  uint32_t number = 0;       ///< of the file; later segments have larger ones
  uint64_t block_bytes = 0;  ///< of each record's block
  uint32_t records_max = 0;  ///< places for records
  Digest fingerprint{};      ///< of model, KV layout and numerics (block_name.hpp)

  bool operator==(const SegmentHead&) const = default;
};

/// What a record says of its block.
struct RecordHead {
  BlockName name;         ///< with the tenant's salt in it, as in memory
  BlockName parent;       ///< of the block before it in its chain
  uint32_t checksum = 0;  ///< CRC-32C of the block's bytes
  uint8_t priority = 0;

  bool operator==(const RecordHead&) const = default;
};

/// A record of a segment's table.
struct TableRow {
  uint32_t place = 0;
  RecordHead head;

  bool operator==(const TableRow&) const = default;
};

/// Bytes of the table, of one record, and where things begin in the file.
size_t table_bytes(uint32_t records_max);
size_t record_bytes(uint64_t block_bytes);
inline constexpr uint64_t table_offset = disk_page_bytes;
uint64_t record_offset(const SegmentHead& segment, uint32_t place);
/// Of a segment whose places are all taken.
uint64_t segment_bytes(const SegmentHead& segment);
/// Places of a segment of at most `bytes`; 0: not even one.
uint32_t records_in(uint64_t bytes, uint64_t block_bytes);

void encode(const SegmentHead& head, DiskPage& page);
/// Errors: corrupt (no segment, damaged, impossible numbers), unsupported (another version).
Result<SegmentHead> parse_segment_head(std::span<const std::byte> page);

/// The head names its segment and place, so that a record that lies elsewhere is none.
void encode(const RecordHead& head, const SegmentHead& segment, uint32_t place, DiskPage& page);
/// Nothing where no whole record head of this place is.
std::optional<RecordHead> parse_record_head(std::span<const std::byte> page,
                                            const SegmentHead& segment, uint32_t place);

/// [table_bytes(segment.records_max)]
std::vector<std::byte> encode_table(std::span<const TableRow> rows, const SegmentHead& segment);
/// Nothing if no whole table of this segment is there.
std::optional<std::vector<TableRow>> parse_table(std::span<const std::byte> bytes,
                                                 const SegmentHead& segment);

}  // namespace troupe::kv
