// A pool for parallel steps: run(task) calls task(part, parts) once for each part and returns when
// all are done; the caller works too. Every thread starts with its own contiguous share of the
// parts, then takes over what others have not begun, so a thread that lost its core to another
// process delays nobody by more than the part that it is in. Workers spin briefly, then sleep. When
// such a part was waited for much longer than the work took, the caller works alone for a while.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
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

  /// What a user who may leave it open means: `asked`, or with 0 a thread for each core.
  static int threads_of(int asked);

  static constexpr int threads_max = 256;
  static constexpr int parts_per_thread_max = 64;

  [[nodiscard]] int size() const { return size_; }

  /// parts = size() * parts_per_thread (1 to 64). Two parts may run on one thread, never at once
  /// there. Not reentrant; one caller at a time. The task must not throw.
  void run(const std::function<void(int part, int parts)>& task, int parts_per_thread = 1);

  /// The [begin, end) of `part` when `count` items are split into `parts` contiguous shares.
  static std::pair<int64_t, int64_t> share(int64_t count, int part, int parts) {
    return {count * part / parts, count * (part + 1) / parts};
  }

 private:
  /// Parts [next, end) that a thread has not begun in a generation, in one word:
  /// generation << 32 | next << 16 | end.
  struct alignas(64) Share {
    std::atomic<uint64_t> state{0};
  };

  void work(int self);
  void take_parts(int self, uint32_t generation);
  bool take_part(Share& share, uint32_t generation, int& part);
  void finish_part();
  void wait_for_others(int64_t work_ns);

  int size_;
  const std::function<void(int, int)>* task_ = nullptr;
  int parts_ = 0;
  uint32_t runs_alone_ = 0;          ///< that are left; of the caller alone, as the next
  uint32_t penalty_;                 ///< runs alone after the next long wait
  std::unique_ptr<Share[]> shares_;  ///< [size]
  std::atomic<uint32_t> generation_{0};
  std::atomic<int> running_{0};   ///< parts that are not done
  std::atomic<int> sleepers_{0};  ///< workers that asked to be woken since the last wake-up
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<std::thread> threads_;
};

}  // namespace troupe
