// What can be done to the folder of a disk tier while no store uses it. Calls block.
#pragma once

#include <string>
#include <vector>

#include "kv/disk_folder.hpp"

namespace troupe::kv {

struct VerifyReport {
  uint64_t whole = 0;
  uint64_t damaged = 0;
  std::vector<std::string> problems;  ///< a sentence each, of the first limits::problems_max
};
/// Reads every block.
Result<VerifyReport> verify_blocks(DiskFolder& folder);

struct CopyReport {
  uint64_t copied = 0;
  uint64_t known = 0;    ///< the other folder had them
  uint64_t damaged = 0;  ///< not copied
};
/// Copies what is whole to segments of its own, oldest first.
Result<CopyReport> copy_blocks(DiskFolder& from, DiskFolder& to);

struct EvictReport {
  uint64_t segments = 0, blocks = 0, bytes = 0;  ///< removed
  uint64_t bytes_left = 0;
};
/// Removes segments, oldest first, until the rest takes at most so many bytes.
Result<EvictReport> evict_segments(DiskFolder& folder, uint64_t bytes_max);

}  // namespace troupe::kv
