// The folder of a disk tier: private, locked by whoever uses it, full of segment files. Calls
// block.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kv/segment_file.hpp"

namespace troupe::kv {

/// A segment as it was found.
struct FoundSegment {
  uint32_t number = 0;
  uint64_t file_bytes = 0;
  /// Set: nothing of it can be used (damaged, of another version, not readable).
  std::optional<Error> unfit;
  SegmentHead head;            ///< unless unfit
  std::vector<TableRow> rows;  ///< what may be there; blocks are checked when they are read
  bool is_sealed = false;
};

class DiskFolder {
 public:
  enum class Use : uint8_t {
    own,   ///< makes the folder if need be; nobody else may use it meanwhile
    look,  ///< it must exist; others may look as well
  };
  /// Errors: failed_precondition (somebody has it, says who), invalid_argument (not a folder, or
  /// one that others can enter), not_found, unavailable.
  static Result<std::unique_ptr<DiskFolder>> open(const std::string& path, Use use);

  /// Numbers of the segments, oldest first; at most limits::segments_max, the newest.
  [[nodiscard]] Result<std::vector<uint32_t>> numbers() const;
  /// Looks at one.
  [[nodiscard]] FoundSegment find(uint32_t number) const;
  /// All of them. An owner seals what was left open and removes what nobody can use.
  [[nodiscard]] Result<std::vector<FoundSegment>> find_all();

  Result<std::shared_ptr<SegmentFile>> create(const SegmentHead& head) const;
  [[nodiscard]] Result<std::shared_ptr<SegmentFile>> open(uint32_t number) const;
  Status remove(uint32_t number) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  DiskFolder() = default;
  Status take_lock();

  std::string path_;
  Use use_ = Use::look;
  Descriptor folder_;
  Descriptor lock_;
};

}  // namespace troupe::kv
