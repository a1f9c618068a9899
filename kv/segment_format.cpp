#include "kv/segment_format.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/concat.hpp"
#include "base/crc32c.hpp"
#include "base/defect.hpp"
#include "kv/limits.hpp"

namespace troupe::kv {
namespace {

static_assert(std::endian::native == std::endian::little, "segments are little-endian");

// "TRPKVSEG", "TRPR", "TRPT"
constexpr uint64_t segment_magic = 0x474553564b505254;
constexpr uint32_t record_magic = 0x52505254;
constexpr uint32_t table_magic = 0x54505254;

struct SegmentWire {
  uint64_t magic = segment_magic;
  uint32_t version = segment_version;
  uint32_t records_max = 0;
  uint64_t number = 0;
  uint64_t block_bytes = 0;
  Digest fingerprint{};
  uint32_t reserved = 0;
  uint32_t crc = 0;  ///< of everything before it
};
static_assert(sizeof(SegmentWire) == 72);

struct HeadWire {
  BlockName name;
  BlockName parent;
  uint32_t checksum = 0;
  uint32_t priority = 0;
};

struct RecordWire {
  uint32_t magic = record_magic;
  uint32_t place = 0;
  uint64_t segment = 0;
  HeadWire head;
  uint32_t reserved = 0;
  uint32_t crc = 0;
};
static_assert(sizeof(RecordWire) == 64);

struct RowWire {
  uint32_t place = 0;
  HeadWire head;
};
static_assert(sizeof(RowWire) == 44);

struct TableWire {
  uint32_t magic = table_magic;
  uint32_t count = 0;
  uint64_t segment = 0;
  uint32_t rows_crc = 0;
  uint32_t crc = 0;
};
static_assert(sizeof(TableWire) == 24);

/// The checksum of a wire structure whose last field it is.
template <class Wire>
uint32_t crc_of(const Wire& wire) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&wire);
  return crc32c({bytes, sizeof wire - sizeof wire.crc});
}

template <class Wire>
std::optional<Wire> take(std::span<const std::byte> bytes) {
  Wire wire;
  if (bytes.size() < sizeof wire) return std::nullopt;
  std::memcpy(&wire, bytes.data(), sizeof wire);
  return wire;
}

template <class Wire>
void put(const Wire& wire, std::byte* to) {
  std::memcpy(to, &wire, sizeof wire);
}

HeadWire to_wire(const RecordHead& head) {
  return {head.name, head.parent, head.checksum, head.priority};
}

std::optional<RecordHead> from_wire(const HeadWire& wire) {
  if (wire.priority > UINT8_MAX) return std::nullopt;
  return RecordHead{wire.name, wire.parent, wire.checksum, static_cast<uint8_t>(wire.priority)};
}

}  // namespace

size_t whole_pages(size_t bytes) {
  return (bytes + disk_page_bytes - 1) / disk_page_bytes * disk_page_bytes;
}

size_t table_bytes(uint32_t records_max) {
  return whole_pages(sizeof(TableWire) + size_t{records_max} * sizeof(RowWire));
}

size_t record_bytes(uint64_t block_bytes) {
  return disk_page_bytes + whole_pages(block_bytes);
}

uint64_t record_offset(const SegmentHead& segment, uint32_t place) {
  return table_offset + table_bytes(segment.records_max) +
         uint64_t{place} * record_bytes(segment.block_bytes);
}

uint64_t segment_bytes(const SegmentHead& segment) {
  return record_offset(segment, segment.records_max);
}

uint32_t records_in(uint64_t bytes, uint64_t block_bytes) {
  if (block_bytes == 0 || block_bytes > limits::disk_block_bytes_max) return 0;
  auto records = static_cast<uint32_t>(
      std::min<uint64_t>(bytes / record_bytes(block_bytes), limits::segment_records_max));
  while (records > 0 && segment_bytes({0, block_bytes, records, {}}) > bytes) --records;
  return records;
}

void encode(const SegmentHead& head, DiskPage& page) {
  SegmentWire wire;
  wire.records_max = head.records_max;
  wire.number = head.number;
  wire.block_bytes = head.block_bytes;
  wire.fingerprint = head.fingerprint;
  wire.crc = crc_of(wire);
  page.bytes.fill(std::byte{0});
  put(wire, page.bytes.data());
}

Result<SegmentHead> parse_segment_head(std::span<const std::byte> page) {
  const auto wire = take<SegmentWire>(page);
  if (!wire || wire->magic != segment_magic) {
    return error(Code::corrupt, "this is no segment of KV blocks", "it begins with TRPKVSEG");
  }
  if (wire->crc != crc_of(*wire)) {
    return error(Code::corrupt, "the segment's head contradicts its checksum");
  }
  if (wire->version != segment_version) {
    return error(Code::unsupported, concat("the segment has format version ", wire->version),
                 concat("this release reads version ", segment_version));
  }
  if (wire->block_bytes == 0 || wire->block_bytes > limits::disk_block_bytes_max ||
      wire->records_max == 0 || wire->records_max > limits::segment_records_max ||
      wire->number > UINT32_MAX) {
    return error(
        Code::corrupt,
        concat("the segment says that it has ", wire->records_max, " records of ",
               wire->block_bytes, " bytes"),
        concat("1 to ", limits::segment_records_max, " of 1 to ", limits::disk_block_bytes_max));
  }
  return SegmentHead{static_cast<uint32_t>(wire->number), wire->block_bytes, wire->records_max,
                     wire->fingerprint};
}

void encode(const RecordHead& head, const SegmentHead& segment, uint32_t place, DiskPage& page) {
  RecordWire wire;
  wire.place = place;
  wire.segment = segment.number;
  wire.head = to_wire(head);
  wire.crc = crc_of(wire);
  page.bytes.fill(std::byte{0});
  put(wire, page.bytes.data());
}

std::optional<RecordHead> parse_record_head(std::span<const std::byte> page,
                                            const SegmentHead& segment, uint32_t place) {
  const auto wire = take<RecordWire>(page);
  if (!wire || wire->magic != record_magic || wire->crc != crc_of(*wire)) return std::nullopt;
  if (wire->segment != segment.number || wire->place != place) return std::nullopt;
  return from_wire(wire->head);
}

std::vector<std::byte> encode_table(std::span<const TableRow> rows, const SegmentHead& segment) {
  if (rows.size() > segment.records_max) defect("a segment's table has more rows than places");
  std::vector<std::byte> bytes(table_bytes(segment.records_max));
  std::byte* at = bytes.data() + sizeof(TableWire);
  for (const TableRow& row : rows) {
    put(RowWire{row.place, to_wire(row.head)}, at);
    at += sizeof(RowWire);
  }
  TableWire wire;
  wire.count = static_cast<uint32_t>(rows.size());
  wire.segment = segment.number;
  wire.rows_crc = crc32c({bytes.data() + sizeof wire, rows.size() * sizeof(RowWire)});
  wire.crc = crc_of(wire);
  put(wire, bytes.data());
  return bytes;
}

std::optional<std::vector<TableRow>> parse_table(std::span<const std::byte> bytes,
                                                 const SegmentHead& segment) {
  const auto wire = take<TableWire>(bytes);
  if (!wire || wire->magic != table_magic || wire->crc != crc_of(*wire)) return std::nullopt;
  if (wire->segment != segment.number || wire->count > segment.records_max) return std::nullopt;
  const size_t rows_bytes = size_t{wire->count} * sizeof(RowWire);
  if (bytes.size() < sizeof *wire + rows_bytes) return std::nullopt;
  const auto raw = bytes.subspan(sizeof *wire, rows_bytes);
  if (wire->rows_crc != crc32c(raw)) return std::nullopt;
  std::vector<TableRow> rows;
  rows.reserve(wire->count);
  for (uint32_t i = 0; i < wire->count; ++i) {
    const auto row = take<RowWire>(raw.subspan(size_t{i} * sizeof(RowWire)));
    const auto head = from_wire(row->head);
    if (!head || row->place >= segment.records_max) return std::nullopt;
    rows.push_back({row->place, *head});
  }
  return rows;
}

}  // namespace troupe::kv
