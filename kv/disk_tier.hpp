// The disk tier of a store as plain logic: which block is where, what is written next, which
// segment goes. It touches no file: jobs go to whoever does them, and their ends come back. Not
// thread-safe.
//
// Segments are filled one after another and go oldest first (those of other models before all).
// When a segment goes, blocks that were read since they were written are written again at the end
// of the newest one, at most half a segment of them; the others are dropped. One segment's room is
// always left, so that the limit holds while blocks move.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kv/disk_folder.hpp"
#include "kv/disk_job.hpp"
#include "kv/events.hpp"

namespace troupe::kv {

/// In blocks where nothing else is said; counted since the start.
struct DiskTierStats {
  uint64_t bytes_max = 0, bytes = 0;
  size_t blocks = 0;        ///< that can be read now
  uint64_t read = 0;        ///< whole
  uint64_t written = 0;     ///< whole
  uint64_t moved = 0;       ///< kept when their segment went
  uint64_t dropped = 0;     ///< went with their segment
  uint64_t corrupt = 0;     ///< found damaged
  uint64_t failed = 0;      ///< reads and writes that the system refused
  double bytes_per_us = 0;  ///< of reads, lately; 0: nothing was read yet
};

/// How a job ended that somebody waits for.
struct DiskOutcome {
  DiskJob::Kind kind = DiskJob::Kind::read;
  uint64_t id = 0;
  Status status;
};

class DiskTier {
 public:
  /// `events` must outlive the tier.
  DiskTier(uint64_t bytes_max, EventLog& events, std::function<void(DiskJob)> submit);

  /// What lies in the folder, oldest first. Once, before anything else. The blocks of the newest
  /// segment's fingerprint are here from now on; adopt() changes that.
  void load(const std::vector<FoundSegment>& found);
  /// From now on the blocks of this fingerprint and size are here, and no others.
  void adopt(const Digest& fingerprint, uint64_t block_bytes);
  /// Bytes of a block of this fingerprint; nothing if the disk has none.
  [[nodiscard]] std::optional<uint64_t> block_bytes_of(const Digest& fingerprint) const;

  [[nodiscard]] bool contains(const BlockName& name) const { return find(name).has_value(); }
  [[nodiscard]] std::optional<RecordHead> find(const BlockName& name) const;
  /// All names that can be read, in no particular order.
  [[nodiscard]] std::vector<BlockName> names() const;

  /// Whether write() may be called now.
  bool can_write(TimeUs now);
  /// Starts to write a block; gives the job's number.
  uint64_t write(const RecordHead& record, const std::byte* block);
  /// Starts to read a block; nothing if it is not here or too much is being read.
  std::optional<uint64_t> read(const BlockName& name, std::byte* into);
  /// Gives how the write or read ended, if it was one.
  std::optional<DiskOutcome> on_done(const DiskDone& done, TimeUs now);

  /// Seals the segment that is being filled, once its writes are done.
  void finish();
  /// Nothing is under way.
  [[nodiscard]] bool is_idle() const { return jobs_.empty() && moves_.empty(); }
  [[nodiscard]] DiskTierStats stats() const;
  [[nodiscard]] size_t index_bytes() const { return index_.bytes(); }

 private:
  struct Segment {
    SegmentHead head;
    uint64_t bytes = 0;  ///< what it takes, or will take
    uint32_t next_place = 0;
    uint32_t writing = 0;
    bool is_open = false;        ///< not sealed yet
    std::vector<TableRow> rows;  ///< while it is open
  };
  struct Job {
    DiskJob::Kind kind = DiskJob::Kind::read;
    RecordHead record;
    DiskPlace at;
    DiskPlace source;
  };

  [[nodiscard]] bool is_ours(const SegmentHead& head) const {
    return has_group_ && head.fingerprint == fingerprint_ && head.block_bytes == block_bytes_;
  }
  [[nodiscard]] uint64_t bytes() const;
  [[nodiscard]] uint64_t next_segment_bytes() const;
  /// Begins a new segment and makes room for the one after it.
  bool open_segment();
  [[nodiscard]] uint32_t oldest() const;
  /// The segment goes; what was read moves first, if it may.
  void retire(uint32_t number, bool may_move);
  void pump_moves();
  void remove(uint32_t number);
  /// If all its places are taken, or nothing more is to be written, and all writes have ended.
  void seal_if_over(uint32_t number);
  /// The block is now there, or is not any more.
  void put(const RecordHead& record, DiskPlace at);
  void erase(const DiskBlock& block);
  /// Where the next record goes: the open segment must have room.
  DiskPlace take_place();
  uint64_t start(DiskJob job, DiskPlace source = {});
  void on_written(const Job& job, const Status& status, TimeUs now);
  void on_read(const Job& job, const DiskDone& done);
  /// Unless it lies elsewhere meanwhile.
  void forget(const RecordHead& record, DiskPlace at);

  uint64_t bytes_max_;
  EventLog& events_;
  std::function<void(DiskJob)> submit_;
  bool has_group_ = false;
  Digest fingerprint_{};
  uint64_t block_bytes_ = 0;
  DiskIndex index_;
  size_t num_ours_ = 0;
  std::map<uint32_t, Segment> segments_;
  uint32_t open_ = 0;  ///< the segment that is being filled; 0: none
  uint32_t last_number_ = 0;
  bool is_finishing_ = false;
  uint32_t retiring_ = 0;         ///< whose blocks move; 0: none
  std::vector<BlockName> moves_;  ///< still to be moved
  size_t num_moving_ = 0;
  std::unordered_map<uint64_t, Job> jobs_;
  uint64_t last_id_ = 0;
  size_t num_reading_ = 0;
  size_t num_writing_ = 0;
  TimeUs pause_until_ = 0;
  TimeUs report_after_ = 0;
  DiskTierStats stats_;
};

}  // namespace troupe::kv
