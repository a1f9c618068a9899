// Paints lines on a terminal and reads its keys, with ncurses. Knows nothing of what it paints.
#pragma once

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "cli/monitor_screen.hpp"
#include "cli/monitor_view.hpp"
#include "cli/screen_table.hpp"

namespace troupe::cli {

/// Takes the terminal over; the destructor gives it back as it was. One at a time.
class MonitorPainter {
 public:
  /// Errors: failed_precondition when standard input and output are no terminal, or one that the
  /// terminal library does not know.
  static Result<std::unique_ptr<MonitorPainter>> open();
  ~MonitorPainter();
  MonitorPainter(const MonitorPainter&) = delete;
  MonitorPainter& operator=(const MonitorPainter&) = delete;

  /// As it is now: changes when the user changes the window.
  [[nodiscard]] ScreenSize size() const;
  /// Waits up to `timeout_ms` for a key; `none` also when the size changed. `quit` when the
  /// terminal is gone.
  MonitorKey wait_key(int timeout_ms);
  void paint(const std::vector<ScreenLine>& lines);

 private:
  MonitorPainter() = default;
  void begin();
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace troupe::cli
