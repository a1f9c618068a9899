// The lines at the top of the monitor's screen: the cluster as a whole.
#include <algorithm>

#include "base/concat.hpp"
#include "cli/monitor_screen.hpp"
#include "cli/screen_text.hpp"

namespace troupe::cli {
namespace {

double sum(const MonitorModel& model, v1::Metric metric) {
  return static_cast<double>(model.total(metric));
}

std::string percentiles(const MonitorModel& model, v1::Distribution distribution) {
  const actors::Histogram recent = model.recent(distribution);
  if (recent.count() == 0) return "- / - / -";
  const auto at = [&](double q) {
    return short_duration(static_cast<int64_t>(recent.percentile_us(q)));
  };
  return concat(at(0.5), " / ", at(0.9), " / ", at(0.99));
}

ScreenLine cluster_line(const MonitorModel& model) {
  size_t ready = 0;
  for (const auto& [name, node] : model.nodes()) ready += node.info.health() == "ready" ? 1 : 0;
  const bool all = ready == model.nodes().size();
  ScreenLine line = {{"nodes     "}};
  line.push_back(
      {concat(ready, " of ", model.nodes().size(), " ready"), all ? Style::good : Style::warning});
  line.push_back({concat("   requests ", short_count(sum(model, v1::METRIC_RUNNING_SEQUENCES)),
                         " running, ", short_count(sum(model, v1::METRIC_WAITING_SEQUENCES)),
                         " waiting, ", short_count(sum(model, v1::METRIC_BOOKINGS)), " booked")});
  const double failed = sum(model, v1::METRIC_CHOICES_FAILED);
  line.push_back(
      {concat("   failed ", short_count(failed)), failed > 0 ? Style::bad : Style::plain});
  return line;
}

ScreenLine speed_line(const MonitorModel& model) {
  const double drafted = sum(model, v1::METRIC_DRAFTED_TOKENS);
  return {{concat("tokens/s  prefill ", short_count(model.total_rate(v1::METRIC_PREFILL_TOKENS)),
                  "  decode ", short_count(model.total_rate(v1::METRIC_DECODE_TOKENS)),
                  "   drafts ", percent(sum(model, v1::METRIC_ACCEPTED_TOKENS), drafted), " of ",
                  short_count(drafted), " accepted")}};
}

ScreenLine latency_line(const MonitorModel& model) {
  return {{concat("TTFT p50/p90/p99 ", percentiles(model, v1::DISTRIBUTION_TTFT), "   ITL ",
                  percentiles(model, v1::DISTRIBUTION_ITL))}};
}

ScreenLine blocks_line(const MonitorModel& model, size_t columns) {
  const double total = sum(model, v1::METRIC_DEVICE_BLOCKS);
  const double used = std::max(0.0, total - sum(model, v1::METRIC_DEVICE_BLOCKS_FREE));
  return {{concat(
      "KV blocks device ", bar(total > 0 ? used / total : 0, columns >= 100 ? 20 : 10), " ",
      short_count(used), "/", short_count(total), " in use, ",
      short_count(sum(model, v1::METRIC_DEVICE_BLOCKS_INDEXED)), " indexed, hit rate ",
      percent(sum(model, v1::METRIC_CACHED_TOKENS), sum(model, v1::METRIC_PROMPT_TOKENS)))}};
}

ScreenLine transfer_line(const MonitorModel& model) {
  double rate = 0;
  for (const v1::Metric metric : {v1::METRIC_READ_BYTES_SHARED_MEMORY, v1::METRIC_READ_BYTES_TCP,
                                  v1::METRIC_READ_BYTES_SAME_PROCESS}) {
    rate += model.total_rate(metric);
  }
  const double failed = sum(model, v1::METRIC_FAILED_HANDOVERS);
  ScreenLine line = {
      {concat("transfers ", short_count(sum(model, v1::METRIC_HANDOVERS)), " done, ")}};
  line.push_back(
      {concat(short_count(failed), " failed"), failed > 0 ? Style::warning : Style::plain});
  line.push_back({concat(", ", short_count(sum(model, v1::METRIC_MOVED_BLOCKS)), " blocks; ",
                         short_bytes(sum(model, v1::METRIC_READ_BYTES_SHARED_MEMORY)), " shm, ",
                         short_bytes(sum(model, v1::METRIC_READ_BYTES_TCP)), " tcp, now ",
                         short_bytes(rate), "/s")});
  return line;
}

bool plays(const MonitorModel& model, const char* role) {
  return std::ranges::any_of(model.nodes(),
                             [role](const auto& entry) { return entry.second.has_role(role); });
}

ScreenLine store_line(const MonitorModel& model, size_t columns) {
  const double total = sum(model, v1::METRIC_STORE_BLOCKS_TOTAL);
  const double held = sum(model, v1::METRIC_STORE_BLOCKS);
  double bytes = 0;
  for (const auto& [name, node] : model.nodes()) {
    bytes += static_cast<double>(node.value(v1::METRIC_STORE_BLOCKS)) *
             static_cast<double>(node.value(v1::METRIC_STORE_BLOCK_BYTES));
  }
  const double hits = sum(model, v1::METRIC_STORE_HITS);
  return {{concat("KV blocks store  ", bar(total > 0 ? held / total : 0, columns >= 100 ? 20 : 10),
                  " ", short_count(held), "/", short_count(total), ", ", short_bytes(bytes),
                  ", hit rate ", percent(hits, hits + sum(model, v1::METRIC_STORE_MISSES)), ", ",
                  short_count(sum(model, v1::METRIC_STORE_EVICTED)), " evicted")}};
}

ScreenLine disk_line(const MonitorModel& model, size_t columns) {
  const double bytes = sum(model, v1::METRIC_STORE_DISK_BYTES);
  const double most = sum(model, v1::METRIC_STORE_DISK_BYTES_MAX);
  return {{concat("KV blocks disk   ", bar(bytes / most, columns >= 100 ? 20 : 10), " ",
                  short_count(sum(model, v1::METRIC_STORE_DISK_BLOCKS)), ", ", short_bytes(bytes),
                  ", ", short_count(sum(model, v1::METRIC_STORE_DISK_READ)), " read, ",
                  short_count(sum(model, v1::METRIC_STORE_DISK_WRITTEN)), " written, ",
                  short_count(sum(model, v1::METRIC_STORE_DISK_FAILED) +
                              sum(model, v1::METRIC_STORE_DISK_CORRUPT)),
                  " failed")}};
}

ScreenLine draft_line(const MonitorModel& model) {
  return {
      {concat("draft     knows ", short_count(sum(model, v1::METRIC_DRAFT_INDEX_TOKENS)),
              " tokens in ", short_bytes(sum(model, v1::METRIC_DRAFT_INDEX_BYTES)), ", answered ",
              percent(sum(model, v1::METRIC_DRAFT_ANSWERS), sum(model, v1::METRIC_DRAFT_QUESTIONS)),
              " of ", short_count(sum(model, v1::METRIC_DRAFT_QUESTIONS)), " questions")}};
}

}  // namespace

std::vector<ScreenLine> summary_lines(const MonitorModel& model, size_t columns) {
  std::vector<ScreenLine> lines = {cluster_line(model), speed_line(model), latency_line(model),
                                   blocks_line(model, columns), transfer_line(model)};
  if (plays(model, "kv_store")) lines.push_back(store_line(model, columns));
  if (sum(model, v1::METRIC_STORE_DISK_BYTES_MAX) > 0) lines.push_back(disk_line(model, columns));
  if (plays(model, "draft")) lines.push_back(draft_line(model));
  for (ScreenLine& line : lines) line = fit(std::move(line), columns);
  return lines;
}

}  // namespace troupe::cli
