#include "base/log.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>

namespace troupe {
namespace {

std::atomic<LogLevel> level_now{LogLevel::info};

std::mutex& sink_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::function<void(std::string_view)>& sink_now() {
  static std::function<void(std::string_view)> sink;
  return sink;
}

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
    case LogLevel::off:
      return "off";
  }
  return "?";
}

std::string timestamp() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  const auto ms = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[40];
  const size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + n, sizeof text - n, ".%03dZ", static_cast<int>(ms));
  return text;
}

}  // namespace

LogLevel parse_log_level(std::string_view text, LogLevel fallback) {
  for (LogLevel level :
       {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error, LogLevel::off}) {
    if (text == level_name(level)) return level;
  }
  return fallback;
}

void set_log_level(LogLevel level) {
  level_now = level;
}
LogLevel log_level() {
  return level_now;
}

void set_log_sink(std::function<void(std::string_view)> sink) {
  std::lock_guard lock(sink_mutex());
  sink_now() = std::move(sink);
}

void log(LogLevel level, std::string_view component, std::string_view message) {
  if (level < level_now.load(std::memory_order_relaxed)) return;
  std::string line = timestamp();
  line.append(" ").append(level_name(level)).append(" ").append(component).append(": ");
  line.append(message);
  std::lock_guard lock(sink_mutex());
  if (sink_now()) {
    sink_now()(line);
    return;
  }
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace troupe
