// A pool with static splits: run(task) calls task(part, parts) once on each of `parts` threads, the
// caller being part 0, and returns when all are done. Workers spin briefly, then sleep.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

class ThreadPool {
 public:
  /// threads >= 1, the calling thread included; at most `threads_max`.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  static constexpr int threads_max = 256;

  [[nodiscard]] int size() const { return parts_; }

  /// Not reentrant; one caller at a time. The task must not throw.
  void run(const std::function<void(int part, int parts)>& task);

  /// The [begin, end) of `part` when `count` items are split into `parts` contiguous shares.
  static std::pair<int64_t, int64_t> share(int64_t count, int part, int parts) {
    return {count * part / parts, count * (part + 1) / parts};
  }

 private:
  void work(int part);

  int parts_;
  const std::function<void(int, int)>* task_ = nullptr;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int> running_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> caller_sleeps_{false};
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<std::thread> threads_;
};

}  // namespace troupe
