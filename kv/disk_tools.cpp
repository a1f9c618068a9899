#include "kv/disk_tools.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/concat.hpp"
#include "kv/limits.hpp"

namespace troupe::kv {
namespace {

using Names = std::unordered_set<BlockName, BlockNameHash>;

/// Copies the rows of one segment that are not known yet.
Status copy_segment(const FoundSegment& found, DiskFolder& from, DiskFolder& to, uint32_t number,
                    Names& known, CopyReport& report) {
  std::vector<TableRow> wanted;
  for (const TableRow& row : found.rows) {
    if (known.insert(row.head.name).second) {
      wanted.push_back(row);
    } else {
      ++report.known;
    }
  }
  if (wanted.empty()) return {};
  TROUPE_ASSIGN(const auto source, from.open(found.number));
  SegmentHead head = found.head;
  head.number = number;
  head.records_max = static_cast<uint32_t>(wanted.size());
  TROUPE_ASSIGN(const auto target, to.create(head));
  const AlignedBytes block = aligned_bytes(head.block_bytes);
  std::vector<TableRow> rows;
  for (const TableRow& row : wanted) {
    if (!source->read(row.place, row.head, block.get())) {
      ++report.damaged;
      known.erase(row.head.name);
      continue;
    }
    const auto place = static_cast<uint32_t>(rows.size());
    TROUPE_TRY(target->write(place, row.head, block.get()));
    rows.push_back({place, row.head});
  }
  report.copied += rows.size();
  return rows.empty() ? to.remove(number) : target->seal(rows);
}

}  // namespace

Result<VerifyReport> verify_blocks(DiskFolder& folder) {
  TROUPE_ASSIGN(const auto numbers, folder.numbers());
  VerifyReport report;
  const auto say = [&report](const Error& problem) {
    if (report.problems.size() < limits::problems_max) report.problems.push_back(problem.message());
  };
  for (const uint32_t number : numbers) {
    const FoundSegment found = folder.find(number);
    if (found.unfit) {
      ++report.damaged;
      say(*found.unfit);
      continue;
    }
    TROUPE_ASSIGN(const auto file, folder.open(number));
    const AlignedBytes block = aligned_bytes(found.head.block_bytes);
    for (const TableRow& row : found.rows) {
      const auto status = file->read(row.place, row.head, block.get());
      ++(status ? report.whole : report.damaged);
      if (!status) say(status.error());
    }
  }
  return report;
}

Result<CopyReport> copy_blocks(DiskFolder& from, DiskFolder& to) {
  TROUPE_ASSIGN(const auto sources, from.numbers());
  TROUPE_ASSIGN(const auto there, to.find_all());
  Names known;
  uint32_t last = 0;
  for (const FoundSegment& segment : there) {
    last = std::max(last, segment.number);
    for (const TableRow& row : segment.rows) known.insert(row.head.name);
  }
  if (last > UINT32_MAX - sources.size()) {
    return error(Code::exhausted, concat(to.path(), " has no segment number left"));
  }
  CopyReport report;
  for (const uint32_t number : sources) {
    const FoundSegment found = from.find(number);
    if (found.unfit) {
      ++report.damaged;
      continue;
    }
    TROUPE_TRY(copy_segment(found, from, to, ++last, known, report));
  }
  return report;
}

Result<EvictReport> evict_segments(DiskFolder& folder, uint64_t bytes_max) {
  TROUPE_ASSIGN(const auto segments, folder.find_all());
  EvictReport report;
  for (const FoundSegment& segment : segments) report.bytes_left += segment.file_bytes;
  for (const FoundSegment& segment : segments) {
    if (report.bytes_left <= bytes_max) break;
    TROUPE_TRY(folder.remove(segment.number));
    ++report.segments;
    report.blocks += segment.rows.size();
    report.bytes += segment.file_bytes;
    report.bytes_left -= segment.file_bytes;
  }
  return report;
}

}  // namespace troupe::kv
