#include "base/thread_pool.hpp"

#include <algorithm>

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
int spins_for(int parts) {
  constexpr int spins = 2000;
  static const unsigned cores = std::thread::hardware_concurrency();
  return cores != 0 && static_cast<unsigned>(parts) > cores ? 0 : spins;
}

}  // namespace

ThreadPool::ThreadPool(int threads) : parts_(std::clamp(threads, 1, threads_max)) {
  require_denormals("thread pool");
  for (int part = 1; part < parts_; ++part) threads_.emplace_back([this, part] { work(part); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    generation_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// Lost wake-ups are excluded in both directions by the same rule: a sleeper first announces itself
// and then looks at the state, the other side first changes the state and then looks for sleepers;
// all four are sequentially consistent.
void ThreadPool::run(const std::function<void(int part, int parts)>& task) {
  if (parts_ == 1) {
    task(0, 1);
    return;
  }
  task_ = &task;
  running_.store(parts_ - 1);
  generation_.fetch_add(1);
  if (sleepers_.load() > 0) {
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  task(0, parts_);
  for (int spin = spins_for(parts_); spin > 0; --spin) {
    if (running_.load() == 0) return;
    pause_briefly();
  }
  std::unique_lock lock(mutex_);
  caller_sleeps_.store(true);
  done_.wait(lock, [this] { return running_.load() == 0; });
  caller_sleeps_.store(false);
}

void ThreadPool::work(int part) {
  require_denormals("thread pool worker");
  const int spins = spins_for(parts_);
  for (uint64_t seen = 0;;) {
    for (int spin = spins; spin > 0 && generation_.load() == seen; --spin) pause_briefly();
    if (generation_.load() == seen) {
      std::unique_lock lock(mutex_);
      sleepers_.fetch_add(1);
      wake_.wait(lock, [this, seen] { return generation_.load() != seen; });
      sleepers_.fetch_sub(1);
    }
    ++seen;
    if (stop_) return;
    (*task_)(part, parts_);
    if (running_.fetch_sub(1) == 1 && caller_sleeps_.load()) {
      const std::lock_guard lock(mutex_);
      done_.notify_one();
    }
  }
}

}  // namespace troupe
