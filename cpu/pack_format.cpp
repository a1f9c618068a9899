#include "cpu/pack_format.hpp"

#include <bit>
#include <cstring>

#include "base/concat.hpp"
#include "base/crc32c.hpp"
#include "cpu/limits.hpp"

namespace troupe::cpu {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> magic = {'T', 'R', 'P', 'P', 'A', 'C', 'K', '\n'};
constexpr size_t head_checksum_at = pack_head_bytes - 4;

/// Writes values one behind another.
struct Writer {
  std::byte* at;
  template <class T>
  void put(const T& value) {
    std::memcpy(at, &value, sizeof(T));
    at += sizeof(T);
  }
};

/// Reads them again; whoever uses it knows that they are there.
struct Reader {
  const std::byte* at;
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return value;
  }
};

Error corrupt(std::string what) {
  return error(Code::corrupt, std::move(what), "make it again with troupe pack");
}

}  // namespace

std::array<std::byte, pack_head_bytes> encode_head(const PackHead& head) {
  std::array<std::byte, pack_head_bytes> bytes{};
  Writer writer{bytes.data()};
  writer.put(magic);
  writer.put(pack_version);
  writer.put(static_cast<uint32_t>(numerics_version));
  writer.put(static_cast<uint32_t>(head.mode));
  writer.put(head.table_checksum);
  writer.put(head.matrices);
  writer.put(head.table_offset);
  writer.put(head.weights);
  writer.put(head.files);
  Writer{bytes.data() + head_checksum_at}.put(crc32c(std::span(bytes).first(head_checksum_at)));
  return bytes;
}

std::vector<std::byte> encode_table(std::span<const PackRow> rows) {
  std::vector<std::byte> bytes(rows.size() * pack_row_bytes);
  Writer writer{bytes.data()};
  for (const PackRow& row : rows) {
    writer.put(row.offset);
    writer.put(row.shape.bytes);
    writer.put(row.shape.rows);
    writer.put(row.shape.cols);
    writer.put(row.shape.type);
    writer.put(row.checksum);
  }
  return bytes;
}

Result<PackHead> decode_head(std::span<const std::byte> file) {
  if (file.size() < pack_head_bytes) {
    return corrupt(concat("it has ", file.size(), " bytes, its head alone has ", pack_head_bytes));
  }
  Reader reader{file.data()};
  if (reader.get<std::array<char, 8>>() != magic) return corrupt("it does not begin as a pack");
  const auto version = reader.get<uint32_t>();
  const auto numerics = reader.get<uint32_t>();
  if (version != pack_version || numerics != numerics_version) {
    return error(Code::unsupported,
                 concat("it has format ", version, " and numerics ", numerics,
                        ", this release has ", pack_version, " and ", numerics_version),
                 "make it again with troupe pack");
  }
  if (crc32c(file.first(head_checksum_at)) !=
      Reader{file.data() + head_checksum_at}.get<uint32_t>()) {
    return corrupt("the checksum of its head is wrong");
  }
  PackHead head;
  const auto mode = reader.get<uint32_t>();
  head.mode = static_cast<ComputeMode>(mode);
  head.table_checksum = reader.get<uint32_t>();
  head.matrices = reader.get<uint64_t>();
  head.table_offset = reader.get<uint64_t>();
  head.weights = reader.get<Digest>();
  head.files = reader.get<Digest>();
  if (mode > static_cast<uint32_t>(ComputeMode::exact) ||
      head.matrices > limits::pack_matrices_max || head.table_offset < pack_head_bytes ||
      head.table_offset > file.size() ||
      file.size() - head.table_offset != head.matrices * pack_row_bytes) {
    return corrupt(concat("it has ", file.size(), " bytes, and its head tells of ", head.matrices,
                          " matrices with a table at ", head.table_offset));
  }
  return head;
}

Result<std::vector<PackRow>> decode_table(std::span<const std::byte> file, const PackHead& head) {
  const auto table = file.subspan(head.table_offset);
  if (crc32c(table) != head.table_checksum) return corrupt("the checksum of its table is wrong");
  std::vector<PackRow> rows(head.matrices);
  Reader reader{table.data()};
  for (PackRow& row : rows) {
    row.offset = reader.get<uint64_t>();
    row.shape.bytes = reader.get<uint64_t>();
    row.shape.rows = reader.get<uint32_t>();
    row.shape.cols = reader.get<uint32_t>();
    row.shape.type = reader.get<uint32_t>();
    row.checksum = reader.get<uint32_t>();
    if (row.offset < pack_head_bytes || row.offset % line_bytes != 0 ||
        row.offset > head.table_offset || row.shape.bytes > head.table_offset - row.offset) {
      return corrupt(concat("a matrix of ", row.shape.bytes, " bytes at ", row.offset,
                            " does not lie before the table at ", head.table_offset));
    }
  }
  return rows;
}

}  // namespace troupe::cpu
