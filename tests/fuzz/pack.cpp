// Any bytes as a pack's head and table: as they are, and with checksums that fit. What the readers
// take lies within the file and is written as the same bytes again.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/crc32c.hpp"
#include "cpu/pack_format.hpp"

using namespace troupe;
using namespace troupe::cpu;

namespace {

void check(std::span<const std::byte> file) {
  const auto head = decode_head(file);
  if (!head) {
    if (head.error().what.empty()) std::abort();
    return;
  }
  if (*decode_head(file) != *head) std::abort();
  const auto rows = decode_table(file, *head);
  if (!rows) return;
  for (const PackRow& row : *rows) {
    if (row.offset + row.shape.bytes > file.size()) std::abort();
  }
  const auto table = encode_table(*rows);
  if (!std::ranges::equal(table, file.subspan(head->table_offset))) std::abort();
}

void put(std::vector<std::byte>& file, size_t at, uint32_t value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> file(size);
  if (size > 0) std::memcpy(file.data(), data, size);
  check(file);
  if (size < pack_head_bytes) return 0;
  const PackHead none;
  const auto proper = encode_head(none);
  // The same release's magic and versions, then a table that fits into the file.
  std::memcpy(file.data(), proper.data(), 16);
  uint64_t offset = 0;
  std::memcpy(&offset, file.data() + 32, sizeof offset);
  if (offset <= size) put(file, 20, crc32c(std::span(file).subspan(offset)));
  put(file, pack_head_bytes - 4, crc32c(std::span(file).first(pack_head_bytes - 4)));
  check(file);
  return 0;
}
