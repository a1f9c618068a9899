// The part of DiskTier that begins segments, seals them and lets them go.
#include <algorithm>
#include <utility>

#include "base/defect.hpp"
#include "kv/disk_tier.hpp"
#include "kv/limits.hpp"

namespace troupe::kv {

uint64_t DiskTier::bytes() const {
  uint64_t sum = 0;
  for (const auto& [number, segment] : segments_) sum += segment.bytes;
  return sum;
}

uint64_t DiskTier::next_segment_bytes() const {
  const uint64_t one = segment_bytes({0, block_bytes_, 1, {}});
  return std::max(one, std::min(bytes_max_ / limits::segment_share, limits::segment_bytes_max));
}

uint32_t DiskTier::oldest() const {
  // Files of other models are of use to nobody now.
  uint32_t oldest = 0;
  for (const auto& [number, segment] : segments_) {
    if (segment.is_open) continue;
    if (!is_ours(segment.head)) return number;
    if (oldest == 0) oldest = number;
  }
  return oldest;
}

bool DiskTier::open_segment() {
  const uint64_t room = next_segment_bytes();
  const uint32_t records = records_in(room, block_bytes_);
  if (records == 0 || 2 * room > bytes_max_ || last_number_ == UINT32_MAX) return false;
  const auto is_over = [&] {
    return bytes() + room > bytes_max_ || segments_.size() >= limits::segments_max;
  };
  while (is_over()) {
    const uint32_t victim = oldest();
    if (victim == 0) return false;
    retire(victim, false);
  }
  open_ = ++last_number_;
  Segment& segment = segments_[open_];
  segment.head = {open_, block_bytes_, records, fingerprint_};
  segment.bytes = segment_bytes(segment.head);
  segment.is_open = true;
  // The next one's room, while there is a place for what is worth keeping.
  while (retiring_ == 0 && is_over()) {
    const uint32_t victim = oldest();
    if (victim == 0) break;
    retire(victim, true);
  }
  return retiring_ == 0;
}

void DiskTier::retire(uint32_t number, bool may_move) {
  const size_t moves_max = may_move ? segments_.at(open_).head.records_max / 2 : 0;
  std::vector<DiskBlock> dropped;
  const bool is_current = is_ours(segments_.at(number).head);
  index_.each([&](const DiskBlock& block) {
    if (block.at.segment != number) return;
    if (is_current && block.used && moves_.size() < moves_max) {
      moves_.push_back(block.head.name);
    } else {
      dropped.push_back(block);
    }
  });
  for (const DiskBlock& block : dropped) erase(block);
  stats_.dropped += dropped.size();
  if (moves_.empty()) {
    remove(number);
    return;
  }
  retiring_ = number;
  pump_moves();
}

void DiskTier::pump_moves() {
  while (!moves_.empty() && num_moving_ < limits::disk_writes_max) {
    const auto block = index_.find(moves_.back());
    moves_.pop_back();
    // It may have been found damaged meanwhile.
    if (!block || block->at.segment != retiring_) continue;
    DiskJob job;
    job.kind = DiskJob::Kind::move;
    job.record = block->head;
    const DiskPlace at = take_place();
    job.segment = segments_.at(at.segment).head;
    job.place = at.place;
    ++num_moving_;
    start(std::move(job), block->at);
  }
  if (retiring_ == 0 || !moves_.empty() || num_moving_ > 0) return;
  const uint32_t number = std::exchange(retiring_, 0);
  remove(number);
  if (open_ != 0) seal_if_over(open_);
}

void DiskTier::remove(uint32_t number) {
  DiskJob job;
  job.kind = DiskJob::Kind::remove;
  job.segment = segments_.at(number).head;
  // Its bytes are free at once: jobs that write come after this one.
  segments_.erase(number);
  start(std::move(job));
}

DiskPlace DiskTier::take_place() {
  if (open_ == 0) defect("a block is to be written and no segment is open");
  Segment& segment = segments_.at(open_);
  if (segment.next_place >= segment.head.records_max) defect("a segment has no place left");
  ++segment.writing;
  return {open_, segment.next_place++};
}

void DiskTier::seal_if_over(uint32_t number) {
  Segment& segment = segments_.at(number);
  const bool is_full = segment.next_place == segment.head.records_max;
  const bool is_over = is_full || (is_finishing_ && retiring_ == 0);
  if (!segment.is_open || !is_over || segment.writing > 0) return;
  segment.is_open = false;
  if (open_ == number) open_ = 0;
  if (segment.rows.empty()) {
    remove(number);
    return;
  }
  segment.bytes = record_offset(segment.head, segment.next_place);
  DiskJob job;
  job.kind = DiskJob::Kind::seal;
  job.segment = segment.head;
  job.rows = std::move(segment.rows);
  start(std::move(job));
}

}  // namespace troupe::kv
