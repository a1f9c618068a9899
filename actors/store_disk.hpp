// What joins a store's memory to its disk: which blocks are written when, and which come back. No
// CAF, no files.
//
// Every block that arrived in memory is written as soon as the disk takes it, those that were asked
// for again before all others. What makes room in memory before its turn came is lost.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kv/block_store.hpp"
#include "kv/disk_tier.hpp"

namespace troupe::actors {

class StoreDisk {
 public:
  explicit StoreDisk(std::unique_ptr<kv::DiskTier> tier) : tier_(std::move(tier)) {}

  /// From now on blocks move between the disk and this memory, which must outlive the disk's jobs.
  void use(kv::BlockStore& memory, const Digest& fingerprint);
  [[nodiscard]] kv::DiskTier& tier() { return *tier_; }
  [[nodiscard]] const kv::DiskTier& tier() const { return *tier_; }

  /// The block arrived in memory from a worker.
  void on_stored(const kv::OfferedBlock& block);
  /// A block in memory was asked for again.
  void on_used(const kv::BlockName& name);
  /// Starts what can be written now.
  void pump(TimeUs now);

  /// Begins to bring a block to memory; the page that is set aside for it. Nothing if it is not on
  /// disk, or no room or no turn can be had.
  std::optional<kv::PageId> fetch(const kv::BlockName& name, const kv::BlockName& root);
  /// The page that the block is on its way to.
  [[nodiscard]] std::optional<kv::PageId> coming(const kv::BlockName& name) const;

  struct Arrival {
    kv::PageId page = kv::no_page;
    bool is_whole = false;
  };
  /// A job has ended; gives the page whose block came, or did not.
  std::optional<Arrival> on_done(const kv::DiskDone& done, TimeUs now);

  /// Everything in memory is to be written, then nothing more.
  void begin_flush() { is_flushing_ = true; }
  /// It was, as far as the disk took it.
  [[nodiscard]] bool is_flushed() const { return is_finished_ && tier_->is_idle(); }
  /// Blocks that wait to be written.
  [[nodiscard]] size_t num_waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    kv::OfferedBlock block;
    bool is_urgent = false;
  };
  struct Write {
    kv::PageId page = kv::no_page;
    kv::OfferedBlock block;
  };
  struct Read {
    kv::PageId page = kv::no_page;
    kv::BlockName name;
  };

  std::optional<kv::OfferedBlock> next();
  void add(const kv::OfferedBlock& block);

  std::unique_ptr<kv::DiskTier> tier_;
  kv::BlockStore* memory_ = nullptr;
  std::unordered_map<kv::BlockName, Waiting, kv::BlockNameHash> waiting_;
  std::deque<kv::BlockName> urgent_, ordinary_;  ///< names of waiting_, perhaps of others
  std::unordered_map<uint64_t, Write> writes_;   ///< by job
  std::unordered_map<uint64_t, Read> reads_;     ///< by job
  std::unordered_map<kv::BlockName, kv::PageId, kv::BlockNameHash> coming_;
  bool is_flushing_ = false;
  bool is_finished_ = false;
};

}  // namespace troupe::actors
