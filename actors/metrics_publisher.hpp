// Who is told of a process's metrics, and when. What a subscriber missed while it was slow comes
// with its next message, so nothing is held for it. No CAF.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "actors/metrics.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace troupe::actors {

namespace limits {
/// Subscribers of one process; one more is refused.
inline constexpr size_t subscribers_max = 16;
/// Messages to a subscriber that may be unacknowledged; no more are sent until it is heard.
inline constexpr uint64_t updates_unacked_max = 4;
/// A subscriber that was not heard for this long is forgotten.
inline constexpr TimeUs subscriber_silence_us = 10'000'000;
/// Content of one message; the rest comes with the next.
inline constexpr size_t update_bytes = 56 * 1024;
/// How often subscribers may be told.
inline constexpr uint32_t update_interval_ms_min = 100;
inline constexpr uint32_t update_interval_ms_max = 60'000;
}  // namespace limits

class MetricsPublisher {
 public:
  /// Names a subscriber; given by the shell.
  using Key = uint64_t;

  MetricsPublisher(std::shared_ptr<Metrics> metrics, uint64_t incarnation)
      : metrics_(std::move(metrics)), incarnation_(incarnation) {}

  /// Begins a subscription, or begins it again. Errors: exhausted. An interval out of bounds is
  /// brought into them; the result says what it is.
  Result<uint32_t> on_subscribe(Key key, const v1::Subscribe& subscribe, TimeUs now);
  void on_ack(Key key, uint64_t number, TimeUs now);
  void on_gone(Key key);

  /// Whether due() would have a message.
  [[nodiscard]] bool is_due(TimeUs now) const;
  /// The messages that are due; call it every update_interval_ms_min, or a little more often.
  /// `wall_us` is the wall clock at `now`.
  std::vector<std::pair<Key, v1::MetricsUpdate>> due(TimeUs now, int64_t wall_us);

  [[nodiscard]] bool knows(Key key) const { return subscribers_.contains(key); }
  [[nodiscard]] size_t num_subscribers() const { return subscribers_.size(); }

 private:
  struct Subscriber {
    uint32_t interval_ms = 0;
    uint64_t sent_change = 0;  ///< the last change that it was told
    uint64_t sent = 0;         ///< messages
    uint64_t acknowledged = 0;
    TimeUs heard_us = 0;
    TimeUs next_us = 0;

    [[nodiscard]] bool is_due(TimeUs now) const {
      return now >= next_us && sent - acknowledged < limits::updates_unacked_max;
    }
  };

  std::shared_ptr<Metrics> metrics_;
  uint64_t incarnation_;
  std::map<Key, Subscriber> subscribers_;
};

}  // namespace troupe::actors
