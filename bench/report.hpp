// The rows of a benchmark, for people or as the one JSON object that every benchmark prints:
// {"bench", "machine", "rows": [{"name", "value", "unit", "spread": [min, max], "bar", "ok"}]};
// rows that have a limit say "share", too.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace troupe::bench {

struct Row {
  std::string name;
  double value = 0;  ///< median
  double low = 0, high = 0;
  std::string unit;
  double bar = NAN;           ///< what was asked for; NAN: nothing was
  bool bar_is_least = false;  ///< the value should not be below the bar (else: not above it)
  double share = NAN;         ///< of a limit that was measured in the same run; NAN: of none

  [[nodiscard]] bool ok() const {
    return std::isnan(bar) || (bar_is_least ? value >= bar : value <= bar);
  }
};

/// Median, lowest and highest of the measurements.
inline Row row(std::string name, std::vector<double> values, std::string unit) {
  std::sort(values.begin(), values.end());
  return {std::move(name), values[values.size() / 2], values.front(), values.back(),
          std::move(unit)};
}
inline Row at_least(Row r, double bar) {
  r.bar = bar;
  r.bar_is_least = true;
  return r;
}
inline Row at_most(Row r, double bar) {
  r.bar = bar;
  return r;
}

/// `machine`: what decides the speed, e.g. the instruction set.
inline void print(const std::string& bench, const std::string& machine,
                  const std::vector<Row>& rows, bool json) {
  if (!json) {
    for (const Row& r : rows) {
      std::printf("%-40s %10.2f %s  [%.2f, %.2f]", r.name.c_str(), r.value, r.unit.c_str(), r.low,
                  r.high);
      if (!std::isnan(r.share)) std::printf("  %.0f %% of the limit", 100 * r.share);
      if (!std::isnan(r.bar)) {
        std::printf("  %s %.2f: %s", r.bar_is_least ? "at least" : "at most", r.bar,
                    r.ok() ? "yes" : "NO");
      }
      std::printf("\n");
    }
    return;
  }
  std::printf("{\"bench\": \"%s\", \"machine\": \"%u cores, %s\", \"rows\": [", bench.c_str(),
              std::thread::hardware_concurrency(), machine.c_str());
  const char* separator = "";
  for (const Row& r : rows) {
    std::printf(
        "%s{\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\", \"spread\": [%.3f, %.3f], "
        "\"bar\": %s, \"ok\": %s",
        separator, r.name.c_str(), r.value, r.unit.c_str(), r.low, r.high,
        std::isnan(r.bar) ? "null" : std::to_string(r.bar).c_str(), r.ok() ? "true" : "false");
    if (!std::isnan(r.share)) std::printf(", \"share\": %.3f", r.share);
    std::printf("}");
    separator = ", ";
  }
  std::printf("]}\n");
}

}  // namespace troupe::bench
