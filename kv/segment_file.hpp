// One segment file: created, written record by record, sealed with its table, read. Calls block:
// they belong on a thread of their own (disk_threads.hpp). Reads may run beside a write.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kv/disk_io.hpp"
#include "kv/segment_format.hpp"

namespace troupe::kv {

/// "segment-<8 hex digits>.kv"
std::string segment_name(uint32_t number);
/// Nothing for names of other files.
std::optional<uint32_t> segment_number(std::string_view name);

class SegmentFile {
 public:
  /// Errors: unavailable, exhausted (full disk).
  static Result<std::shared_ptr<SegmentFile>> create(int folder, const SegmentHead& head);
  /// Errors: corrupt, unsupported, unavailable.
  static Result<std::shared_ptr<SegmentFile>> open(int folder, uint32_t number, bool is_writable);

  [[nodiscard]] const SegmentHead& head() const { return head_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Writes a record with its block of head().block_bytes. What fails leaves no record.
  Status write(uint32_t place, const RecordHead& record, const std::byte* block);
  /// Reads a block to `into` [head().block_bytes]; corrupt unless it is whole and the one meant.
  Status read(uint32_t place, const RecordHead& record, std::byte* into);
  /// Writes the table and makes everything durable.
  Status seal(std::span<const TableRow> rows);

  struct Contents {
    std::vector<TableRow> rows;
    bool is_sealed = false;
  };
  /// What the table says, or else what the record heads say, of records that lie inside the file.
  /// Blocks are not read.
  Result<Contents> contents();
  [[nodiscard]] Result<uint64_t> file_bytes() const;

 private:
  SegmentFile(Descriptor file, SegmentHead head)
      : file_(std::move(file)), head_(head), name_(segment_name(head.number)) {}
  std::vector<TableRow> scan(uint64_t bytes);

  Descriptor file_;
  SegmentHead head_;
  std::string name_;
};

}  // namespace troupe::kv
