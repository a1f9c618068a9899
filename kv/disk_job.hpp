// What a disk tier asks of whoever does its reading and writing, and what it is told afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kv/disk_index.hpp"

namespace troupe::kv {

struct DiskJob {
  enum class Kind : uint8_t {
    write,   ///< a block to a place of a segment, which is made if it is not there
    read,    ///< a block from a place
    move,    ///< a block from a place to another; a damaged one is not written
    seal,    ///< the segment gets its table and is made durable
    remove,  ///< the segment goes
  };
  Kind kind = Kind::read;
  uint64_t id = 0;
  SegmentHead segment;               ///< that is written, read, sealed or removed
  uint32_t place = 0;                ///< in it
  RecordHead record;                 ///< write, read, move
  const std::byte* block = nullptr;  ///< write: stays as it is until the job is done
  std::byte* into = nullptr;         ///< read: belongs to the job until it is done
  DiskPlace source;                  ///< move: where it lies
  std::vector<TableRow> rows;        ///< seal
};

struct DiskDone {
  uint64_t id = 0;
  Status status;
  TimeUs duration_us = 0;
};

}  // namespace troupe::kv
