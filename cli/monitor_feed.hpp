// Where a monitor's model comes from: a cluster, live and maybe recorded, or a recording.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "actors/monitor.hpp"
#include "cli/monitor_model.hpp"
#include "cli/recording.hpp"

namespace troupe::cli {

/// Filled on the monitor's thread, read on another one.
class LiveFeed {
 public:
  explicit LiveFeed(const std::string& cluster) : model_(cluster) {}

  /// From now on everything that is taken is written there too.
  Status record_to(const std::string& path);
  /// For the monitor, which must end before this does.
  actors::MonitorHandlers handlers();

  /// Calls `use` with the model, which does not change meanwhile.
  void with_model(const std::function<void(const MonitorModel&)>& use) const;
  /// Why the recording ended, if it did.
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  void take_members(const v1::Members& members);
  actors::Taken take_update(const std::string& node, const v1::MetricsUpdate& update);
  void note(const Status& written);

  mutable std::mutex mutex_;
  MonitorModel model_;
  std::optional<RecordingWriter> writer_;
  std::optional<Error> failure_;
  v1::Members recorded_members_;  ///< the same again is not written
};

/// Plays a recording into a model, at the speed at which it was recorded or another.
class ReplayFeed {
 public:
  static Result<ReplayFeed> open(const std::string& path);

  /// Moves the recorded time on by `us` and takes what happened by then. Errors: a bad line.
  Status advance(int64_t us);
  /// Takes everything that is left.
  Status finish();

  [[nodiscard]] bool at_end() const { return !next_; }
  /// The recorded time.
  [[nodiscard]] int64_t wall_us() const { return wall_us_; }
  [[nodiscard]] const MonitorModel& model() const { return model_; }

 private:
  explicit ReplayFeed(RecordingReader reader)
      : reader_(std::move(reader)), model_(reader_.header().cluster()) {}
  Status take_next();

  RecordingReader reader_;
  MonitorModel model_;
  std::optional<v1::RecordedEvent> next_;
  int64_t wall_us_ = 0;
  int64_t last_us_ = 0;  ///< of the newest event that was taken
};

/// Microseconds since 1970.
int64_t wall_now_us();

}  // namespace troupe::cli
