#include "base/thread_pool.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <numeric>
#include <thread>

using namespace troupe;

TEST_CASE("shares cover every item once and differ by at most one") {
  for (const int parts : {1, 2, 3, 7}) {
    for (const int64_t count : {0, 1, 5, 64, 1001}) {
      int64_t next = 0;
      for (int part = 0; part < parts; ++part) {
        const auto [begin, end] = ThreadPool::share(count, part, parts);
        CHECK(begin == next);
        CHECK(end - begin >= count / parts);
        CHECK(end - begin <= count / parts + 1);
        next = end;
      }
      CHECK(next == count);
    }
  }
}

TEST_CASE("every part runs once per call, also with more threads than cores") {
  for (const int threads : {1, 2, 3, 9}) {
    ThreadPool pool(threads);
    REQUIRE(pool.size() == threads);
    std::vector<int> calls(static_cast<size_t>(threads));
    constexpr int rounds = 500;
    for (int round = 0; round < rounds; ++round) {
      pool.run([&](int part, int parts) {
        if (parts == threads) ++calls[static_cast<size_t>(part)];
      });
      // Each round must be visible to the caller as soon as run() returns.
      REQUIRE(std::accumulate(calls.begin(), calls.end(), 0) == (round + 1) * threads);
    }
    for (const int n : calls) CHECK(n == rounds);
  }
}

TEST_CASE("more parts than threads run once each, whoever takes them") {
  for (const int threads : {1, 2, 3, 9}) {
    ThreadPool pool(threads);
    std::vector<std::atomic<int>> calls(static_cast<size_t>(threads) * 5);
    constexpr int rounds = 500;
    for (int round = 1; round <= rounds; ++round) {
      pool.run(
          [&](int part, int parts) {
            if (parts == threads * 5) ++calls[static_cast<size_t>(part)];
          },
          5);
      for (const auto& n : calls) REQUIRE(n == round);
    }
  }
}

TEST_CASE("a thread that does not come is not waited for") {
  ThreadPool pool(2);
  // One part ends only when all others did: whoever has it, the other thread takes the rest.
  std::atomic<int> done{0};
  pool.run(
      [&](int part, int parts) {
        if (part == parts / 2) {
          while (done < parts - 1) std::this_thread::yield();
        }
        ++done;
      },
      8);
  CHECK(done == 16);
}

TEST_CASE("workers that went to sleep wake up again") {
  ThreadPool pool(2);
  int sum = 0;
  std::mutex mutex;
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    pool.run([&](int part, int /*parts*/) {
      if (part == 1) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      const std::lock_guard lock(mutex);
      sum += part + 1;
    });
  }
  CHECK(sum == 15);
}

TEST_CASE("a pool has at least one thread and at most its limit") {
  CHECK(ThreadPool(0).size() == 1);
  CHECK(ThreadPool(-5).size() == 1);
}
