// Does a disk tier's jobs on threads of its own: some read, so that nobody who waits for a block
// waits behind what is written and a disk has several questions at once, and one writes, seals and
// removes in the order it was asked.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kv/disk_folder.hpp"
#include "kv/disk_job.hpp"

namespace troupe::kv {

class DiskThreads {
 public:
  explicit DiskThreads(std::unique_ptr<DiskFolder> folder);
  /// Ends the jobs that are being done; those that wait are not done.
  ~DiskThreads();
  DiskThreads(const DiskThreads&) = delete;
  DiskThreads& operator=(const DiskThreads&) = delete;

  /// Is told on one of the threads.
  using Done = std::function<void(const DiskDone&)>;
  /// Never waits. What a full queue does not take is done at once, in vain.
  void submit(DiskJob job, Done done);

 private:
  struct Queue {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<std::pair<DiskJob, Done>> jobs;
    bool is_over = false;
  };

  void work(Queue& queue);
  Status run(const DiskJob& job);
  Status run_move(const DiskJob& job);
  /// The file of a segment; kept open for the next time.
  Result<std::shared_ptr<SegmentFile>> file_of(uint32_t number);
  Result<std::shared_ptr<SegmentFile>> file_for_writing(const SegmentHead& head);
  void keep(uint32_t number, const std::shared_ptr<SegmentFile>& file);

  std::unique_ptr<DiskFolder> folder_;
  std::mutex files_mutex_;
  std::map<uint32_t, std::shared_ptr<SegmentFile>> files_;
  Queue reads_, writes_;
  std::vector<std::thread> readers_;
  std::thread writer_;
};

}  // namespace troupe::kv
