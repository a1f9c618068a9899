#include "cli/screen_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace troupe::cli {
namespace {

/// Three significant digits: "1.23", "12.3", "123".
std::string three_digits(double value) {
  char text[32];
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string two_parts(int64_t big, const char* big_unit, int64_t small, const char* small_unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%lld%s%02lld%s", static_cast<long long>(big), big_unit,
                static_cast<long long>(small), small_unit);
  return text;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

std::string short_count(double count) {
  if (!std::isfinite(count) || count < 0) return "?";
  const double whole = std::round(count);
  if (count < 999.5) {
    return std::fabs(count - whole) < 1e-9 ? std::to_string(static_cast<int>(whole))
                                           : three_digits(count);
  }
  const char* unit = "kMGTPE";
  count /= 1000;
  while (count >= 999.5 && unit[1] != '\0') {
    count /= 1000;
    ++unit;
  }
  return three_digits(count) + *unit;
}

std::string short_bytes(double bytes) {
  if (!std::isfinite(bytes) || bytes < 0) return "?";
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  const bool whole = unit == 0;
  return (whole ? std::to_string(static_cast<int>(std::round(bytes))) : three_digits(bytes)) + " " +
         units[unit];
}

std::string short_duration(int64_t us) {
  if (us < 0) return "-" + short_duration(us == INT64_MIN ? INT64_MAX : -us);
  const auto value = static_cast<double>(us);
  if (us < 1000) return std::to_string(us) + " us";
  if (value < 999.5e3) return three_digits(value / 1e3) + " ms";
  if (value < 99.95e6) return three_digits(value / 1e6) + " s";
  const int64_t seconds = us / 1'000'000;
  if (seconds < 3600) return two_parts(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 86400) return two_parts(seconds / 3600, "h", seconds / 60 % 60, "m");
  return two_parts(seconds / 86400, "d", seconds / 3600 % 24, "h");
}

std::string percent(double part, double whole) {
  if (!(whole > 0)) return "-";
  return std::to_string(static_cast<int>(std::round(std::clamp(part / whole, 0.0, 9.99) * 100))) +
         "%";
}

std::string bar(double share, size_t width) {
  const double filled = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0);
  const auto marks = static_cast<size_t>(std::lround(filled * static_cast<double>(width)));
  return "[" + std::string(marks, '#') + std::string(width - marks, '.') + "]";
}

std::string time_of_day(int64_t wall_us) {
  const std::time_t seconds = static_cast<std::time_t>(wall_us / 1'000'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "--:--:--Z";
  char text[64];
  std::snprintf(text, sizeof text, "%02d:%02d:%02dZ", parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text;
}

std::string short_id(uint64_t id, size_t digits) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return std::string(text).substr(0, digits);
}

std::string fit_left(std::string text, size_t width) {
  text.resize(width, ' ');
  return text;
}

std::string fit_right(std::string text, size_t width) {
  if (text.size() > width) return text.substr(0, width);
  return std::string(width - text.size(), ' ') + text;
}

}  // namespace troupe::cli
