#include "kv/disk_tier.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/log.hpp"
#include "kv/limits.hpp"

namespace troupe::kv {
namespace {

// A new measurement of the speed counts this much against those before.
constexpr double news_share = 0.1;

}  // namespace

DiskTier::DiskTier(uint64_t bytes_max, EventLog& events, std::function<void(DiskJob)> submit)
    : bytes_max_(bytes_max), events_(events), submit_(std::move(submit)) {}

void DiskTier::load(const std::vector<FoundSegment>& found) {
  for (const FoundSegment& segment : found) {
    last_number_ = std::max(last_number_, segment.number);
    Segment& added = segments_[segment.number];
    added.bytes = segment.file_bytes;
    added.head.number = segment.number;
    if (segment.unfit) continue;
    added.head = segment.head;
    has_group_ = true;
    fingerprint_ = segment.head.fingerprint;
    block_bytes_ = segment.head.block_bytes;
  }
  for (const FoundSegment& segment : found) {
    if (segment.unfit) continue;
    for (const TableRow& row : segment.rows) put(row.head, {segment.number, row.place});
  }
  // The limit may be lower than it was.
  while (bytes() > bytes_max_) retire(oldest(), false);
}

void DiskTier::adopt(const Digest& fingerprint, uint64_t block_bytes) {
  if (has_group_ && fingerprint == fingerprint_ && block_bytes == block_bytes_) return;
  index_.each([this](const DiskBlock& block) {
    if (is_ours(segments_.at(block.at.segment).head)) {
      events_.append(false, Tier::disk, block.head.name);
    }
  });
  if (open_ != 0) {
    // What comes next is of another size or model.
    segments_.at(open_).next_place = segments_.at(open_).head.records_max;
    seal_if_over(open_);
  }
  has_group_ = true;
  fingerprint_ = fingerprint;
  block_bytes_ = block_bytes;
  num_ours_ = 0;
  index_.each([this](const DiskBlock& block) {
    if (!is_ours(segments_.at(block.at.segment).head)) return;
    events_.append(true, Tier::disk, block.head.name);
    ++num_ours_;
  });
}

std::optional<uint64_t> DiskTier::block_bytes_of(const Digest& fingerprint) const {
  std::optional<uint64_t> bytes;
  for (const auto& [number, segment] : segments_) {
    if (segment.head.block_bytes > 0 && segment.head.fingerprint == fingerprint) {
      bytes = segment.head.block_bytes;
    }
  }
  return bytes;
}

std::optional<RecordHead> DiskTier::find(const BlockName& name) const {
  const auto block = index_.find(name);
  if (!block || !is_ours(segments_.at(block->at.segment).head)) return std::nullopt;
  return block->head;
}

std::vector<BlockName> DiskTier::names() const {
  std::vector<BlockName> names;
  names.reserve(num_ours_);
  index_.each([&](const DiskBlock& block) {
    if (is_ours(segments_.at(block.at.segment).head)) names.push_back(block.head.name);
  });
  return names;
}

bool DiskTier::can_write(TimeUs now) {
  if (!has_group_ || retiring_ != 0 || is_finishing_) return false;
  if (num_writing_ >= limits::disk_writes_max || now < pause_until_) return false;
  return (open_ != 0 && segments_.at(open_).next_place < segments_.at(open_).head.records_max) ||
         open_segment();
}

uint64_t DiskTier::write(const RecordHead& record, const std::byte* block) {
  DiskJob job;
  job.kind = DiskJob::Kind::write;
  job.record = record;
  job.block = block;
  const DiskPlace at = take_place();
  job.segment = segments_.at(at.segment).head;
  job.place = at.place;
  ++num_writing_;
  return start(std::move(job));
}

std::optional<uint64_t> DiskTier::read(const BlockName& name, std::byte* into) {
  const auto block = index_.find(name);
  if (!block || num_reading_ >= limits::disk_reads_max) return std::nullopt;
  const SegmentHead& head = segments_.at(block->at.segment).head;
  if (!is_ours(head)) return std::nullopt;
  DiskJob job;
  job.kind = DiskJob::Kind::read;
  job.segment = head;
  job.place = block->at.place;
  job.record = block->head;
  job.into = into;
  ++num_reading_;
  return start(std::move(job));
}

uint64_t DiskTier::start(DiskJob job, DiskPlace source) {
  job.id = ++last_id_;
  job.source = source;
  jobs_[job.id] = {job.kind, job.record, {job.segment.number, job.place}, source};
  submit_(std::move(job));
  return last_id_;
}

std::optional<DiskOutcome> DiskTier::on_done(const DiskDone& done, TimeUs now) {
  const auto found = jobs_.find(done.id);
  if (found == jobs_.end()) return std::nullopt;
  const Job job = found->second;
  jobs_.erase(found);
  switch (job.kind) {
    case DiskJob::Kind::read:
      on_read(job, done);
      break;
    case DiskJob::Kind::write:
    case DiskJob::Kind::move:
      on_written(job, done.status, now);
      break;
    case DiskJob::Kind::seal:
    case DiskJob::Kind::remove:
      if (!done.status) log_warning("store", done.status.error().message());
      break;
  }
  if (job.kind != DiskJob::Kind::read && job.kind != DiskJob::Kind::write) return std::nullopt;
  return DiskOutcome{job.kind, done.id, done.status};
}

void DiskTier::on_read(const Job& job, const DiskDone& done) {
  --num_reading_;
  if (done.status) {
    ++stats_.read;
    index_.use(job.record.name);
    const double rate = static_cast<double>(block_bytes_) /
                        static_cast<double>(std::max<TimeUs>(done.duration_us, 1));
    stats_.bytes_per_us = stats_.bytes_per_us == 0
                              ? rate
                              : stats_.bytes_per_us + news_share * (rate - stats_.bytes_per_us);
    return;
  }
  // A block that moved or went meanwhile was not lost by this.
  const auto block = index_.find(job.record.name);
  if (!block || block->at != job.at) return;
  const bool is_damaged = done.status.error().code == Code::corrupt;
  ++(is_damaged ? stats_.corrupt : stats_.failed);
  log_error("store", concat("a block on disk is lost: ", done.status.error().message()));
  erase(*block);
}

void DiskTier::on_written(const Job& job, const Status& status, TimeUs now) {
  Segment& segment = segments_.at(job.at.segment);
  --segment.writing;
  const bool is_move = job.kind == DiskJob::Kind::move;
  --(is_move ? num_moving_ : num_writing_);
  if (status) {
    ++(is_move ? stats_.moved : stats_.written);
    segment.rows.push_back({job.at.place, job.record});
    put(job.record, job.at);
  } else {
    if (is_move) forget(job.record, job.source);
    const bool is_damaged = status.error().code == Code::corrupt;
    ++(is_damaged ? stats_.corrupt : stats_.failed);
    if (!is_damaged) pause_until_ = now + limits::disk_pause_us;
    if (now >= report_after_) {
      report_after_ = now + limits::disk_report_us;
      log_warning("store", concat("a block was not written to disk: ", status.error().message(),
                                  "; serving goes on without it"));
    }
  }
  seal_if_over(job.at.segment);
  if (is_move) pump_moves();
}

void DiskTier::put(const RecordHead& record, DiskPlace at) {
  const bool is_new = !index_.find(record.name);
  index_.put(record, at);
  if (!is_new || !is_ours(segments_.at(at.segment).head)) return;
  ++num_ours_;
  events_.append(true, Tier::disk, record.name);
}

void DiskTier::erase(const DiskBlock& block) {
  index_.erase(block.head.name);
  if (!is_ours(segments_.at(block.at.segment).head)) return;
  --num_ours_;
  events_.append(false, Tier::disk, block.head.name);
}

void DiskTier::forget(const RecordHead& record, DiskPlace at) {
  const auto block = index_.find(record.name);
  if (block && block->at == at) erase(*block);
}

void DiskTier::finish() {
  is_finishing_ = true;
  if (open_ != 0) seal_if_over(open_);
}

DiskTierStats DiskTier::stats() const {
  DiskTierStats stats = stats_;
  stats.bytes_max = bytes_max_;
  stats.bytes = bytes();
  stats.blocks = num_ours_;
  return stats;
}

}  // namespace troupe::kv
