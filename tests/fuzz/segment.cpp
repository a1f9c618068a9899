// Any bytes as a segment's head, a record's and a table: as they are, and with checksums that fit.
// What the readers take is within the limits and is written as the same bytes again.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/crc32c.hpp"
#include "kv/limits.hpp"
#include "kv/segment_format.hpp"

using namespace troupe;
using namespace troupe::kv;

namespace {

constexpr size_t head_bytes = 72, record_head_bytes = 64, table_head_bytes = 24, row_bytes = 44;

void mend(std::byte* bytes, size_t size) {
  const uint32_t crc = crc32c({bytes, size - sizeof crc});
  std::memcpy(bytes + size - sizeof crc, &crc, sizeof crc);
}

void check_table(std::span<const std::byte> bytes, const SegmentHead& head) {
  const auto rows = parse_table(bytes, head);
  if (!rows) return;
  if (rows->size() > head.records_max) std::abort();
  for (const TableRow& row : *rows) {
    if (row.place >= head.records_max) std::abort();
  }
  const auto again = encode_table(*rows, head);
  if (parse_table(again, head) != *rows) std::abort();
}

void check_all(std::span<const std::byte> first, std::span<const std::byte> second,
               std::span<const std::byte> rest) {
  const auto head = parse_segment_head(first);
  if (!head) {
    if (head.error().what.empty()) std::abort();
    return;
  }
  if (head->block_bytes > limits::disk_block_bytes_max) std::abort();
  if (head->records_max > limits::segment_records_max) std::abort();
  DiskPage page;
  encode(*head, page);
  if (*parse_segment_head(page.bytes) != *head) std::abort();
  if (segment_bytes(*head) < record_offset(*head, 0)) std::abort();
  for (const uint32_t place : {0u, 1u}) {
    const auto record = parse_record_head(second, *head, place);
    if (!record) continue;
    encode(*record, *head, place, page);
    if (parse_record_head(page.bytes, *head, place) != record) std::abort();
  }
  check_table(rest, *head);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  const size_t first = std::min(size, head_bytes);
  const size_t second = std::min(size - first, record_head_bytes);
  const auto check = [&] {
    const std::span<const std::byte> all(bytes);
    check_all(all.first(first), all.subspan(first, second), all.subspan(first + second));
  };
  check();
  const size_t table = head_bytes + record_head_bytes;
  if (size < table + table_head_bytes) return 0;
  std::byte* rows = bytes.data() + table + table_head_bytes;
  uint32_t count = 0;
  std::memcpy(&count, bytes.data() + table + 4, sizeof count);
  const size_t there = (size - table - table_head_bytes) / row_bytes;
  if (count > there) {
    count = static_cast<uint32_t>(there);
    std::memcpy(bytes.data() + table + 4, &count, sizeof count);
  }
  const uint32_t crc = crc32c({rows, count * row_bytes});
  std::memcpy(bytes.data() + table + 16, &crc, sizeof crc);
  mend(bytes.data(), head_bytes);
  mend(bytes.data() + head_bytes, record_head_bytes);
  mend(bytes.data() + table, table_head_bytes);
  check();
  return 0;
}
