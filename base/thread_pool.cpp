#include "base/thread_pool.hpp"

#include <algorithm>
#include <chrono>

#include "base/math.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace troupe {
namespace {

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Pauses before going to sleep, some tens of microseconds: longer than the serial gap between two
/// parallel steps of a forward pass, much shorter than a time slice that a busy core would lose.
/// With more threads than cores spinning only takes the core from whoever has the work.
int spins_for(int threads) {
  constexpr int spins = 1000;
  static const unsigned cores = std::thread::hardware_concurrency();
  return cores != 0 && static_cast<unsigned>(threads) > cores ? 0 : spins;
}

/// A wait that tells of a thread without a core: as long as a time slice, and longer than the work.
constexpr int64_t long_wait_ns = 1'000'000;
constexpr uint32_t penalty_min = 64, penalty_max = 4096;

int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

uint64_t pack(uint32_t generation, int next, int end) {
  return uint64_t{generation} << 32 | static_cast<uint64_t>(next) << 16 |
         static_cast<uint64_t>(end);
}

}  // namespace

int ThreadPool::threads_of(int asked) {
  if (asked > 0) return asked;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : static_cast<int>(cores);
}

ThreadPool::ThreadPool(int threads)
    : size_(std::clamp(threads, 1, threads_max)),
      penalty_(penalty_min),
      shares_(std::make_unique<Share[]>(static_cast<size_t>(size_))) {
  require_denormals("thread pool");
  for (int self = 1; self < size_; ++self) threads_.emplace_back([this, self] { work(self); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  generation_.fetch_add(1);
  {
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

// Lost wake-ups are excluded in both directions by the same rule: a sleeper first announces itself
// and then looks at the state, the other side first changes the state and then looks for sleepers;
// all four are sequentially consistent.
void ThreadPool::run(const std::function<void(int part, int parts)>& task, int parts_per_thread) {
  const int each = std::clamp(parts_per_thread, 1, parts_per_thread_max);
  const int parts = size_ * each;
  if (size_ == 1 || runs_alone_ > 0) {
    if (runs_alone_ > 0) --runs_alone_;
    for (int part = 0; part < parts; ++part) task(part, parts);
    return;
  }
  task_ = &task;
  parts_ = parts;
  running_.store(parts);
  const uint32_t generation = generation_.load() + 1;
  for (int self = 0; self < size_; ++self) {
    shares_[static_cast<size_t>(self)].state.store(pack(generation, self * each, (self + 1) * each),
                                                   std::memory_order_release);
  }
  generation_.store(generation);
  if (sleepers_.exchange(0) > 0) {
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  const int64_t start_ns = now_ns();
  take_parts(0, generation);
  wait_for_others(now_ns() - start_ns);
}

void ThreadPool::wait_for_others(int64_t work_ns) {
  for (int spin = spins_for(size_); spin >= 0; --spin) {
    if (running_.load() == 0) {
      penalty_ = std::max(penalty_ - 1, penalty_min);
      return;
    }
    pause_briefly();
  }
  const int64_t start_ns = now_ns();
  {
    std::unique_lock lock(mutex_);
    caller_sleeps_.store(true);
    done_.wait(lock, [this] { return running_.load() == 0; });
    caller_sleeps_.store(false);
  }
  const int64_t waited_ns = now_ns() - start_ns;
  if (waited_ns < long_wait_ns || waited_ns < 2 * work_ns) return;
  runs_alone_ = penalty_;
  penalty_ = std::min(2 * penalty_, penalty_max);
}

void ThreadPool::work(int self) {
  require_denormals("thread pool worker");
  const int spins = spins_for(size_);
  for (uint32_t seen = 0;;) {
    for (int spin = spins; spin > 0 && generation_.load() == seen; --spin) pause_briefly();
    if (generation_.load() == seen) {
      std::unique_lock lock(mutex_);
      sleepers_.fetch_add(1);
      wake_.wait(lock, [this, seen] { return generation_.load() != seen; });
    }
    if (stop_.load()) return;
    seen = generation_.load();
    take_parts(self, seen);
  }
}

void ThreadPool::take_parts(int self, uint32_t generation) {
  for (int i = 0; i < size_; ++i) {
    Share& share = shares_[static_cast<size_t>((self + i) % size_)];
    for (int part; take_part(share, generation, part);) {
      // Until this part is finished run() does not return, so both belong to this generation.
      (*task_)(part, parts_);
      finish_part();
    }
  }
}

bool ThreadPool::take_part(Share& share, uint32_t generation, int& part) {
  uint64_t state = share.state.load(std::memory_order_acquire);
  for (;;) {
    const auto next = static_cast<int>(state >> 16 & 0xffff),
               end = static_cast<int>(state & 0xffff);
    if (static_cast<uint32_t>(state >> 32) != generation || next == end) return false;
    if (share.state.compare_exchange_weak(state, pack(generation, next + 1, end))) {
      part = next;
      return true;
    }
  }
}

void ThreadPool::finish_part() {
  if (running_.fetch_sub(1) == 1 && caller_sleeps_.load()) {
    const std::lock_guard lock(mutex_);
    done_.notify_one();
  }
}

}  // namespace troupe
