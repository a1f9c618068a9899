#include "kv/disk_threads.hpp"

#include "base/concat.hpp"
#include "kv/limits.hpp"

namespace troupe::kv {

DiskThreads::DiskThreads(std::unique_ptr<DiskFolder> folder)
    : folder_(std::move(folder)), writer_([this] { work(writes_); }) {
  for (int i = 0; i < limits::disk_readers; ++i) readers_.emplace_back([this] { work(reads_); });
}

DiskThreads::~DiskThreads() {
  for (Queue* queue : {&reads_, &writes_}) {
    const std::lock_guard lock(queue->mutex);
    queue->is_over = true;
    queue->filled.notify_all();
  }
  for (std::thread& reader : readers_) reader.join();
  writer_.join();
}

void DiskThreads::submit(DiskJob job, Done done) {
  Queue& queue = job.kind == DiskJob::Kind::read ? reads_ : writes_;
  const uint64_t id = job.id;
  {
    const std::lock_guard lock(queue.mutex);
    if (queue.jobs.size() < limits::disk_queue_max) {
      queue.jobs.emplace_back(std::move(job), std::move(done));
      queue.filled.notify_one();
      return;
    }
  }
  done({id, error(Code::exhausted, concat(limits::disk_queue_max, " disk jobs wait already")), 0});
}

void DiskThreads::work(Queue& queue) {
  for (;;) {
    std::pair<DiskJob, Done> next;
    {
      std::unique_lock lock(queue.mutex);
      queue.filled.wait(lock, [&queue] { return queue.is_over || !queue.jobs.empty(); });
      if (queue.is_over) return;
      next = std::move(queue.jobs.front());
      queue.jobs.pop_front();
    }
    const TimeUs start = now_us();
    Status status = run(next.first);
    next.second({next.first.id, std::move(status), now_us() - start});
  }
}

Status DiskThreads::run(const DiskJob& job) {
  switch (job.kind) {
    case DiskJob::Kind::read: {
      TROUPE_ASSIGN(const auto file, file_of(job.segment.number));
      return file->read(job.place, job.record, job.into);
    }
    case DiskJob::Kind::write: {
      TROUPE_ASSIGN(const auto file, file_for_writing(job.segment));
      return file->write(job.place, job.record, job.block);
    }
    case DiskJob::Kind::move:
      return run_move(job);
    case DiskJob::Kind::seal: {
      TROUPE_ASSIGN(const auto file, file_of(job.segment.number));
      return file->seal(job.rows);
    }
    case DiskJob::Kind::remove: {
      const std::lock_guard lock(files_mutex_);
      files_.erase(job.segment.number);
      return folder_->remove(job.segment.number);
    }
  }
  return error(Code::internal, "a disk job of no kind");
}

Status DiskThreads::run_move(const DiskJob& job) {
  TROUPE_ASSIGN(const auto source, file_of(job.source.segment));
  TROUPE_ASSIGN(const auto target, file_for_writing(job.segment));
  const AlignedBytes block = aligned_bytes(job.segment.block_bytes);
  TROUPE_TRY(source->read(job.source.place, job.record, block.get()));
  return target->write(job.place, job.record, block.get());
}

Result<std::shared_ptr<SegmentFile>> DiskThreads::file_of(uint32_t number) {
  {
    const std::lock_guard lock(files_mutex_);
    const auto found = files_.find(number);
    if (found != files_.end()) return found->second;
  }
  TROUPE_ASSIGN(auto file, folder_->open(number));
  keep(number, file);
  return file;
}

Result<std::shared_ptr<SegmentFile>> DiskThreads::file_for_writing(const SegmentHead& head) {
  {
    const std::lock_guard lock(files_mutex_);
    const auto found = files_.find(head.number);
    if (found != files_.end()) return found->second;
  }
  auto file = folder_->create(head);
  // It was made before and then closed for others.
  if (!file && file.error().code == Code::failed_precondition) return file_of(head.number);
  if (file) keep(head.number, *file);
  return file;
}

void DiskThreads::keep(uint32_t number, const std::shared_ptr<SegmentFile>& file) {
  const std::lock_guard lock(files_mutex_);
  if (files_.size() >= limits::disk_files_max) {
    // Any but the newest, which is being written.
    files_.erase(files_.begin());
  }
  files_[number] = file;
}

}  // namespace troupe::kv
