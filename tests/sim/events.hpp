// Virtual time and what is to happen in it.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "base/clock.hpp"

namespace troupe::sim {

inline constexpr TimeUs ms = 1000;
inline constexpr TimeUs second = 1'000'000;

class Events {
 public:
  /// Those of one moment happen in the order in which they were asked for.
  void after(TimeUs delay, std::function<void()> run) {
    queue_.emplace(now + delay, std::move(run));
  }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  [[nodiscard]] TimeUs next_due() const { return queue_.begin()->first; }
  void run_next() {
    auto run = std::move(queue_.begin()->second);
    queue_.erase(queue_.begin());
    run();
  }
  void clear() { queue_.clear(); }

  TimeUs now = 1'000 * second;

 private:
  std::multimap<TimeUs, std::function<void()>> queue_;
};

}  // namespace troupe::sim
