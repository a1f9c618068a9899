// A disk in memory that does a disk tier's jobs as DiskThreads does. It outlives the stores that
// use it, and fails when a test says so.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/crc32c.hpp"
#include "kv/disk_folder.hpp"
#include "kv/disk_job.hpp"

namespace troupe::testing {

class SimDisk {
 public:
  /// What a job comes to before it is done; ok: it is done. A write that fails may leave half.
  std::function<Status(const kv::DiskJob&)> fault;

  Status run(const kv::DiskJob& job) {
    if (fault) {
      if (Status status = fault(job); !status) return status;
    }
    using Kind = kv::DiskJob::Kind;
    switch (job.kind) {
      case Kind::write:
        write(job, job.block);
        return {};
      case Kind::read:
        return read({job.segment.number, job.place}, job, job.into);
      case Kind::move: {
        std::vector<std::byte> block(job.segment.block_bytes);
        if (Status status = read(job.source, job, block.data()); !status) return status;
        write(job, block.data());
        return {};
      }
      case Kind::seal:
        return {};
      case Kind::remove:
        segments_.erase(job.segment.number);
        return {};
    }
    return {};
  }

  /// What a store finds that starts now.
  [[nodiscard]] std::vector<kv::FoundSegment> found() const {
    std::vector<kv::FoundSegment> all;
    for (const auto& [number, segment] : segments_) {
      kv::FoundSegment found;
      found.number = number;
      found.head = segment.head;
      found.file_bytes = kv::segment_bytes(segment.head);
      found.is_sealed = true;
      for (const auto& [place, record] : segment.records) {
        found.rows.push_back({place, record.head});
      }
      all.push_back(std::move(found));
    }
    return all;
  }
  [[nodiscard]] size_t num_blocks() const {
    size_t sum = 0;
    for (const auto& [number, segment] : segments_) sum += segment.records.size();
    return sum;
  }
  /// One byte of every block.
  void damage_all() {
    for (auto& [number, segment] : segments_) {
      for (auto& [place, record] : segment.records) record.bytes[17] ^= std::byte{4};
    }
  }

 private:
  struct Record {
    kv::RecordHead head;
    std::vector<std::byte> bytes;
  };
  struct Segment {
    kv::SegmentHead head;
    std::map<uint32_t, Record> records;
  };

  void write(const kv::DiskJob& job, const std::byte* block) {
    Segment& segment = segments_[job.segment.number];
    segment.head = job.segment;
    segment.records[job.place] = {job.record, {block, block + job.segment.block_bytes}};
  }
  [[nodiscard]] Status read(kv::DiskPlace at, const kv::DiskJob& job, std::byte* into) const {
    const auto segment = segments_.find(at.segment);
    if (segment == segments_.end()) return error(Code::not_found, "there is no such segment");
    const auto record = segment->second.records.find(at.place);
    if (record == segment->second.records.end() || record->second.head != job.record) {
      return error(Code::corrupt, "there is no such record");
    }
    std::memcpy(into, record->second.bytes.data(), record->second.bytes.size());
    if (crc32c(record->second.bytes) != job.record.checksum) {
      return error(Code::corrupt, "the block contradicts its checksum");
    }
    return {};
  }

  std::map<uint32_t, Segment> segments_;
};

}  // namespace troupe::testing
