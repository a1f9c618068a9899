#include "actors/store_disk.hpp"

namespace troupe::actors {

void StoreDisk::use(kv::BlockStore& memory, const Digest& fingerprint) {
  memory_ = &memory;
  tier_->adopt(fingerprint, memory.block_bytes());
}

void StoreDisk::on_stored(const kv::OfferedBlock& block) {
  if (!tier_->contains(block.name)) add(block);
}

void StoreDisk::add(const kv::OfferedBlock& block) {
  if (!waiting_.try_emplace(block.name, Waiting{block, false}).second) return;
  ordinary_.push_back(block.name);
  // Those that left memory unwritten are still in the line; the oldest are such.
  while (waiting_.size() > memory_->num_pages() && !ordinary_.empty()) {
    waiting_.erase(ordinary_.front());
    ordinary_.pop_front();
  }
}

void StoreDisk::on_used(const kv::BlockName& name) {
  const auto found = waiting_.find(name);
  if (found == waiting_.end() || found->second.is_urgent) return;
  found->second.is_urgent = true;
  urgent_.push_back(name);
}

std::optional<kv::OfferedBlock> StoreDisk::next() {
  for (std::deque<kv::BlockName>* line : {&urgent_, &ordinary_}) {
    while (!line->empty()) {
      const auto found = waiting_.find(line->front());
      line->pop_front();
      if (found == waiting_.end()) continue;
      const kv::OfferedBlock block = found->second.block;
      waiting_.erase(found);
      return block;
    }
  }
  return std::nullopt;
}

void StoreDisk::pump(TimeUs now) {
  if (memory_ == nullptr) {
    is_finished_ = is_flushing_;
    return;
  }
  while (!waiting_.empty() && tier_->can_write(now)) {
    const auto block = next();
    if (!block) break;
    const auto page = memory_->hold(block->name);
    if (!page) continue;
    const kv::RecordHead record{block->name, block->parent, block->checksum, block->priority};
    const uint64_t job = tier_->write(record, memory_->page(*page));
    writes_[job] = {*page, *block};
  }
  if (is_flushing_ && !is_finished_ && waiting_.empty() && writes_.empty()) {
    is_finished_ = true;
    tier_->finish();
  }
}

std::optional<kv::PageId> StoreDisk::fetch(const kv::BlockName& name, const kv::BlockName& root) {
  if (memory_ == nullptr) return std::nullopt;
  const auto record = tier_->find(name);
  if (!record) return std::nullopt;
  const auto answer =
      memory_->expect({record->name, record->parent, record->checksum, record->priority, root});
  if (answer.verdict != kv::BlockStore::Verdict::wanted) return std::nullopt;
  const auto job = tier_->read(name, memory_->page(answer.page));
  if (!job) {
    memory_->lost(answer.page);
    return std::nullopt;
  }
  reads_[*job] = {answer.page, name};
  coming_[name] = answer.page;
  return answer.page;
}

std::optional<kv::PageId> StoreDisk::coming(const kv::BlockName& name) const {
  const auto found = coming_.find(name);
  if (found == coming_.end()) return std::nullopt;
  return found->second;
}

std::optional<StoreDisk::Arrival> StoreDisk::on_done(const kv::DiskDone& done, TimeUs now) {
  const auto outcome = tier_->on_done(done, now);
  if (!outcome) return std::nullopt;
  if (const auto write = writes_.find(outcome->id); write != writes_.end()) {
    memory_->let_go(write->second.page);
    // It is tried again later; there is no later when the process is about to go.
    if (!outcome->status && !is_flushing_) add(write->second.block);
    if (!outcome->status && is_flushing_) waiting_.clear();
    writes_.erase(write);
    return std::nullopt;
  }
  const auto read = reads_.find(outcome->id);
  if (read == reads_.end()) return std::nullopt;
  const Arrival arrival{read->second.page, outcome->status.ok()};
  coming_.erase(read->second.name);
  reads_.erase(read);
  if (arrival.is_whole) {
    memory_->arrived(arrival.page);
  } else {
    memory_->lost(arrival.page);
  }
  return arrival;
}

}  // namespace troupe::actors
