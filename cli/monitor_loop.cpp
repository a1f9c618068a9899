#include "cli/monitor_loop.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "actors/limits.hpp"
#include "base/concat.hpp"
#include "base/log.hpp"
#include "cli/monitor_painter.hpp"
#include "cli/monitor_screen.hpp"
#include "cli/options.hpp"
#include "launch/cluster.hpp"

namespace troupe::cli {
namespace {

constexpr int redraw_ms = 250;
constexpr int64_t look_every_us = 1'000'000;
/// A directory is started again in less.
constexpr int64_t directory_late_us = 3'000'000;

/// Log lines would land in the middle of the screen.
class QuietLog {
 public:
  QuietLog() {
    set_log_sink([](std::string_view) {});
  }
  ~QuietLog() { set_log_sink({}); }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
};

/// Whether the cluster that is watched is still there.
class Watch {
 public:
  explicit Watch(std::string cluster) : cluster_(std::move(cluster)) {}

  /// Its end, if it came. `members_wall_us`: when the directory last answered; 0: never.
  Status look(int64_t members_wall_us) {
    silence_us_ = wall_now_us() - std::max(members_wall_us, began_wall_us_);
    if (silence_us_ > actors::limits::directory_silence_us) {
      return gone(concat("its directory has not answered for ", silence_us_ / 1'000'000, " s"));
    }
    if (now_us() < next_look_us_) return {};
    next_look_us_ = now_us() + look_every_us;
    const auto state = launch::status(cluster_);
    if (!state) return gone("it was stopped");
    if (state->is_stale) return gone("its supervisor died");
    return {};
  }
  [[nodiscard]] std::string trouble() const {
    if (silence_us_ < directory_late_us) return {};
    return concat("the directory has not answered for ", silence_us_ / 1'000'000, " s");
  }

 private:
  [[nodiscard]] Error gone(const std::string& why) const {
    return error(Code::unavailable, concat("cluster ", cluster_, " is gone: ", why));
  }

  std::string cluster_;
  int64_t began_wall_us_ = wall_now_us();
  int64_t silence_us_ = 0;
  TimeUs next_look_us_ = 0;
};

size_t page_of(ScreenSize size) {
  return std::max<size_t>(1, size.rows / 3);
}

Status record_without_screen(LiveFeed& feed, Watch& watch) {
  while (!interrupted()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(redraw_ms));
    int64_t members_wall_us = 0;
    feed.with_model([&](const MonitorModel& model) { members_wall_us = model.members_wall_us(); });
    if (const auto failure = feed.failure()) return *failure;
    TROUPE_TRY(watch.look(members_wall_us));
  }
  return {};
}

}  // namespace

Status run_live(LiveFeed& feed, const std::string& cluster, const std::string& recording) {
  Watch watch(cluster);
  if (!recording.empty() && ::isatty(STDOUT_FILENO) == 0) {
    return record_without_screen(feed, watch);
  }
  TROUPE_ASSIGN(const auto painter, MonitorPainter::open());
  const QuietLog quiet;
  MonitorView view;
  MonitorStatus status;
  status.source = recording.empty() ? "live" : "recording to " + recording;
  while (!view.quit && !interrupted()) {
    std::vector<ScreenLine> lines;
    int64_t members_wall_us = 0;
    feed.with_model([&](const MonitorModel& model) {
      members_wall_us = model.members_wall_us();
      status.wall_us = wall_now_us();
      lines = layout(model, view, status, painter->size());
    });
    painter->paint(lines);
    TROUPE_TRY(watch.look(members_wall_us));
    if (const auto failure = feed.failure()) return *failure;
    status.trouble = watch.trouble();
    const MonitorKey key = painter->wait_key(redraw_ms);
    feed.with_model(
        [&](const MonitorModel& model) { on_key(view, key, model, page_of(painter->size())); });
  }
  return {};
}

Status run_replay(ReplayFeed& feed, const std::string& path, double speed) {
  TROUPE_ASSIGN(const auto painter, MonitorPainter::open());
  const QuietLog quiet;
  MonitorView view;
  TimeUs last_us = now_us();
  while (!view.quit && !interrupted()) {
    const TimeUs now = now_us();
    const double passed = static_cast<double>(now - last_us) * speed;
    last_us = now;
    if (!view.paused) TROUPE_TRY(feed.advance(static_cast<int64_t>(passed)));
    MonitorStatus status;
    const char* how = feed.at_end() ? "end of " : view.paused ? "paused in " : "replay of ";
    status.source = concat(how, path);
    status.wall_us = feed.wall_us();
    painter->paint(layout(feed.model(), view, status, painter->size()));
    on_key(view, painter->wait_key(redraw_ms), feed.model(), page_of(painter->size()));
  }
  return {};
}

}  // namespace troupe::cli
