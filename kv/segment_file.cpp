#include "kv/segment_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/concat.hpp"
#include "base/crc32c.hpp"

namespace troupe::kv {
namespace {

constexpr std::string_view name_begin = "segment-";
constexpr std::string_view name_end = ".kv";
constexpr size_t number_digits = 8;

size_t padded(const SegmentHead& head) {
  return record_bytes(head.block_bytes) - disk_page_bytes;
}

iovec piece(std::byte* data, size_t bytes) {
  return {data, bytes};
}

}  // namespace

std::string segment_name(uint32_t number) {
  char digits[number_digits + 1];
  std::snprintf(digits, sizeof digits, "%08x", number);
  return concat(name_begin, digits, name_end);
}

std::optional<uint32_t> segment_number(std::string_view name) {
  if (!name.starts_with(name_begin) || !name.ends_with(name_end) ||
      name.size() != name_begin.size() + number_digits + name_end.size()) {
    return std::nullopt;
  }
  name = name.substr(name_begin.size(), number_digits);
  uint32_t number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number, 16);
  if (failed != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

Result<std::shared_ptr<SegmentFile>> SegmentFile::create(int folder, const SegmentHead& head) {
  const std::string name = segment_name(head.number);
  TROUPE_ASSIGN(Descriptor file, open_paged(folder, name, O_RDWR | O_CREAT | O_EXCL));
  DiskPage page;
  encode(head, page);
  iovec whole = piece(page.bytes.data(), page.bytes.size());
  if (auto written = write_pages(file.get(), {&whole, 1}, 0, name); !written) {
    ::unlinkat(folder, name.c_str(), 0);
    return written.error();
  }
  ::fsync(folder);
  return std::shared_ptr<SegmentFile>(new SegmentFile(std::move(file), head));
}

Result<std::shared_ptr<SegmentFile>> SegmentFile::open(int folder, uint32_t number,
                                                       bool is_writable) {
  const std::string name = segment_name(number);
  TROUPE_ASSIGN(Descriptor file, open_paged(folder, name, is_writable ? O_RDWR : O_RDONLY));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return disk_error("cannot read " + name);
  if (!S_ISREG(info.st_mode)) return error(Code::corrupt, name + " is not a regular file");
  DiskPage page;
  iovec whole = piece(page.bytes.data(), page.bytes.size());
  TROUPE_TRY(read_pages(file.get(), {&whole, 1}, 0, name));
  auto head = parse_segment_head(page.bytes);
  if (!head) {
    Error why = head.error();
    why.what = concat(name, ": ", why.what);
    return why;
  }
  if (head->number != number) {
    return error(Code::corrupt, concat(name, ": its head names segment ", head->number));
  }
  return std::shared_ptr<SegmentFile>(new SegmentFile(std::move(file), *head));
}

Status SegmentFile::write(uint32_t place, const RecordHead& record, const std::byte* block) {
  const uint64_t offset = record_offset(head_, place);
  DiskPage page;
  encode(record, head_, place, page);
  AlignedBytes copy;
  // The system only reads from what it is given to write.
  auto* data = const_cast<std::byte*>(block);
  if (!is_aligned(block, head_.block_bytes)) {
    copy = aligned_bytes(padded(head_));
    data = copy.get();
    std::memcpy(data, block, head_.block_bytes);
    std::memset(data + head_.block_bytes, 0, padded(head_) - head_.block_bytes);
  }
  iovec pieces[] = {piece(page.bytes.data(), page.bytes.size()), piece(data, padded(head_))};
  return write_pages(file_.get(), pieces, offset, name_);
}

Status SegmentFile::read(uint32_t place, const RecordHead& record, std::byte* into) {
  DiskPage page;
  AlignedBytes copy;
  std::byte* data = into;
  if (!is_aligned(into, head_.block_bytes)) {
    copy = aligned_bytes(padded(head_));
    data = copy.get();
  }
  iovec pieces[] = {piece(page.bytes.data(), page.bytes.size()), piece(data, padded(head_))};
  TROUPE_TRY(read_pages(file_.get(), pieces, record_offset(head_, place), name_));
  const auto found = parse_record_head(page.bytes, head_, place);
  if (!found || found->name != record.name || found->checksum != record.checksum) {
    return error(Code::corrupt, concat(name_, " has no whole record of block ", hex(record.name),
                                       " at place ", place));
  }
  if (crc32c({data, head_.block_bytes}) != record.checksum) {
    return error(Code::corrupt, concat("block ", hex(record.name), " at place ", place, " of ",
                                       name_, " contradicts its checksum"));
  }
  if (copy) std::memcpy(into, data, head_.block_bytes);
  return {};
}

Status SegmentFile::seal(std::span<const TableRow> rows) {
  const std::vector<std::byte> table = encode_table(rows, head_);
  const AlignedBytes copy = aligned_bytes(table.size());
  std::memcpy(copy.get(), table.data(), table.size());
  // First the records, then what says that they are there.
  if (::fdatasync(file_.get()) != 0) return disk_error("cannot write " + name_);
  iovec whole = piece(copy.get(), table.size());
  TROUPE_TRY(write_pages(file_.get(), {&whole, 1}, table_offset, name_));
  if (::fdatasync(file_.get()) != 0) return disk_error("cannot write " + name_);
  return {};
}

Result<uint64_t> SegmentFile::file_bytes() const {
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return disk_error("cannot read " + name_);
  return static_cast<uint64_t>(info.st_size);
}

Result<SegmentFile::Contents> SegmentFile::contents() {
  TROUPE_ASSIGN(const uint64_t bytes, file_bytes());
  const size_t length = table_bytes(head_.records_max);
  Contents contents;
  if (bytes >= table_offset + length) {
    const AlignedBytes table = aligned_bytes(length);
    iovec whole = piece(table.get(), length);
    const auto status = read_pages(file_.get(), {&whole, 1}, table_offset, name_);
    auto rows = status ? parse_table({table.get(), length}, head_) : std::nullopt;
    contents.is_sealed = rows.has_value();
    if (rows) contents.rows = std::move(*rows);
  }
  if (!contents.is_sealed) contents.rows = scan(bytes);
  std::erase_if(contents.rows,
                [&](const TableRow& row) { return record_offset(head_, row.place + 1) > bytes; });
  return contents;
}

std::vector<TableRow> SegmentFile::scan(uint64_t bytes) {
  std::vector<TableRow> rows;
  for (uint32_t place = 0; place < head_.records_max; ++place) {
    if (record_offset(head_, place + 1) > bytes) break;
    DiskPage page;
    iovec whole = piece(page.bytes.data(), page.bytes.size());
    // A page that cannot be read holds no record; the others may.
    if (!read_pages(file_.get(), {&whole, 1}, record_offset(head_, place), name_)) continue;
    if (const auto head = parse_record_head(page.bytes, head_, place)) {
      rows.push_back({place, *head});
    }
  }
  return rows;
}

}  // namespace troupe::kv
