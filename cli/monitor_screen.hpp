// The screen of a monitor as lines of text: what is known and chosen in, exactly as many lines as
// the terminal has out. Knows no terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/monitor_model.hpp"
#include "cli/monitor_view.hpp"
#include "cli/screen_table.hpp"

namespace troupe::cli {

namespace limits {
/// On less than this there is only a line that asks for more.
inline constexpr size_t screen_columns_min = 60;
inline constexpr size_t screen_rows_min = 16;
/// From this height on the timeline of the selected request is always there.
inline constexpr size_t timeline_rows_min = 22;
}  // namespace limits

struct ScreenSize {
  size_t columns = 80;
  size_t rows = 24;
};

/// What the screen says of its source.
struct MonitorStatus {
  std::string source;   ///< "live", "recording to FILE", "replay of FILE"
  std::string trouble;  ///< empty, or what is wrong now
  int64_t wall_us = 0;  ///< now, as the source sees it
};

/// Exactly size.rows lines of exactly size.columns characters.
std::vector<ScreenLine> layout(const MonitorModel& model, const MonitorView& view,
                               const MonitorStatus& status, ScreenSize size);

/// Everything on one page, as long as it is; for --once.
std::vector<ScreenLine> page(const MonitorModel& model, const MonitorStatus& status,
                             size_t columns);

// --- its pieces ---------------------------------------------------------------------------------
std::vector<ScreenLine> summary_lines(const MonitorModel& model, size_t columns);
/// A header and one line a node, in the order of the view.
std::vector<ScreenLine> node_lines(const MonitorModel& model, const MonitorView& view,
                                   int64_t wall_us, size_t columns);
std::vector<ScreenLine> request_lines(const std::vector<MonitoredRequest>& requests,
                                      int64_t wall_us, size_t columns);
/// A title and a line for each phase of the request.
std::vector<ScreenLine> timeline_lines(const MonitoredRequest& request, int64_t wall_us,
                                       size_t columns);
std::vector<ScreenLine> help_lines();

}  // namespace troupe::cli
