// The log sink: one line per event on stderr, or wherever the process redirects it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace troupe {

enum class LogLevel : int { debug = 0, info = 1, warning = 2, error = 3, off = 4 };

/// Parses "debug", "info", "warning", "error" or "off"; anything else gives `fallback`.
LogLevel parse_log_level(std::string_view text, LogLevel fallback);

/// Lines below this level are dropped. Starts at info.
void set_log_level(LogLevel level);
LogLevel log_level();

/// Replaces the sink (tests, files). The sink is called under a lock, one whole line at a time,
/// without the newline. An empty function restores stderr.
void set_log_sink(std::function<void(std::string_view line)> sink);

/// Writes "2026-01-31T12:00:00.123Z level component: message".
void log(LogLevel level, std::string_view component, std::string_view message);

inline void log_info(std::string_view c, std::string_view m) {
  log(LogLevel::info, c, m);
}
inline void log_warning(std::string_view c, std::string_view m) {
  log(LogLevel::warning, c, m);
}
inline void log_error(std::string_view c, std::string_view m) {
  log(LogLevel::error, c, m);
}
inline void log_debug(std::string_view c, std::string_view m) {
  log(LogLevel::debug, c, m);
}

}  // namespace troupe
