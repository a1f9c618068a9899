// The tables of the monitor's screen: nodes and requests.
#include "base/concat.hpp"
#include "cli/monitor_screen.hpp"
#include "cli/screen_text.hpp"

namespace troupe::cli {
namespace {

StyledText health_of(const MonitoredNode& node, int64_t wall_us) {
  const auto silence_us = node.silence_us(wall_us);
  if (!silence_us) return {"not heard", Style::warning};
  if (*silence_us > limits::node_silence_us) {
    return {"silent " + short_duration(*silence_us), Style::bad};
  }
  const bool ready = node.info.health() == "ready";
  return {printable(node.info.health()), ready ? Style::good : Style::warning};
}

std::string roles_of(const v1::NodeInfo& info) {
  std::string roles;
  for (const std::string& role : info.roles())
    roles += (roles.empty() ? "" : ",") + printable(role);
  return roles;
}

bool works(const MonitoredNode& node) {
  return node.has_role("prefill") || node.has_role("decode");
}

/// Empty for processes that do not compute: a column of zeros would hide the others.
std::string of_worker(const MonitoredNode& node, const std::string& text) {
  return works(node) ? text : "";
}

std::string rate_text(std::optional<double> rate) {
  return rate ? short_count(*rate) : "-";
}

std::string blocks_of(const MonitoredNode& node) {
  const uint64_t total = node.value(v1::METRIC_DEVICE_BLOCKS);
  const uint64_t free = node.value(v1::METRIC_DEVICE_BLOCKS_FREE);
  return concat(total - std::min(free, total), "/", total);
}

Row node_row(const MonitoredNode& node, int64_t wall_us) {
  const auto count = [&](v1::Metric metric) {
    return StyledText{of_worker(node, short_count(static_cast<double>(node.value(metric))))};
  };
  const auto cpu = node.rate(v1::METRIC_CPU_US);
  const auto started_us = static_cast<int64_t>(node.value(v1::METRIC_START_WALL_US));
  const auto percentile = [&](v1::Distribution distribution) {
    const actors::Histogram recent = node.recent(distribution);
    if (recent.count() == 0) return StyledText{of_worker(node, "-")};
    return StyledText{short_duration(static_cast<int64_t>(recent.percentile_us(0.5)))};
  };
  return {
      {printable(node.info.name()), Style::bold},
      {roles_of(node.info)},
      health_of(node, wall_us),
      count(v1::METRIC_RUNNING_SEQUENCES),
      count(v1::METRIC_WAITING_SEQUENCES),
      {of_worker(node, rate_text(node.rate(v1::METRIC_PREFILL_TOKENS)))},
      {of_worker(node, rate_text(node.rate(v1::METRIC_DECODE_TOKENS)))},
      {of_worker(node, blocks_of(node))},
      {of_worker(node, percent(static_cast<double>(node.value(v1::METRIC_CACHED_TOKENS)),
                               static_cast<double>(node.value(v1::METRIC_PROMPT_TOKENS))))},
      {cpu ? percent(*cpu, 1e6) : "-"},
      {short_bytes(static_cast<double>(node.value(v1::METRIC_MEMORY_BYTES)))},
      {actors::is_time(started_us) ? short_duration(wall_us - started_us) : "-"},
      percentile(v1::DISTRIBUTION_TTFT),
      percentile(v1::DISTRIBUTION_ITL),
      {concat(node.info.pid())},
      {concat(printable(node.info.host()), ":", node.info.port())},
      {short_id(node.info.incarnation())},
      {printable(node.info.device())},
  };
}

std::string latency(const std::optional<int64_t>& us) {
  return us ? short_duration(*us) : "-";
}

Style state_style(const MonitoredRequest& request) {
  if (request.lost || request.told.finish() == "failed") return Style::bad;
  if (request.told.finish() == "cancelled") return Style::warning;
  return request.is_over() ? Style::plain : Style::good;
}

Row request_row(const MonitoredRequest& request, int64_t wall_us) {
  const v1::RequestTimeline& told = request.told;
  const auto speed = request.tokens_per_s(wall_us);
  const std::string drafts =
      told.drafted_tokens() == 0 ? "-" : concat(told.accepted_tokens(), "/", told.drafted_tokens());
  return {
      {short_id(request.id), Style::bold},
      {printable(request.state()), state_style(request)},
      {concat(told.prompt_tokens())},
      {concat(told.cached_tokens())},
      {concat(told.output_tokens())},
      {latency(request.ttft_us())},
      {speed ? short_count(*speed) : "-"},
      {short_duration(wall_us - request.begin_us())},
      {printable(told.decode_worker())},
      {told.prefill_worker().empty() ? "-" : printable(told.prefill_worker())},
      {concat(told.attempt())},
      {concat(told.choices())},
      {told.blocks_moved() == 0 ? "-" : short_bytes(static_cast<double>(told.bytes_moved()))},
      {drafts},
      {told.prompt_hash() == 0 ? "-" : short_id(told.prompt_hash())},
      {time_of_day(request.begin_us())},
  };
}

}  // namespace

std::vector<ScreenLine> node_lines(const MonitorModel& model, const MonitorView& view,
                                   int64_t wall_us, size_t columns) {
  static const std::vector<Column> all = {
      {"node"},
      {"roles", false, 2},
      {"health"},
      {"run", true},
      {"wait", true, 1},
      {"pre/s", true, 1},
      {"dec/s", true},
      {"blocks", true, 3},
      {"hit", true, 4},
      {"cpu", true, 5},
      {"memory", true, 6},
      {"up", true, 7},
      {"ttft", true, 8},
      {"itl", true, 9},
      {"pid", true, 10},
      {"address", false, 11},
      {"incarn.", false, 13},
      {"device", false, 12},
  };
  std::vector<Row> rows;
  for (const MonitoredNode* node : ordered_nodes(model, view)) {
    rows.push_back(node_row(*node, wall_us));
  }
  return table(all, rows, columns);
}

std::vector<ScreenLine> request_lines(const std::vector<MonitoredRequest>& requests,
                                      int64_t wall_us, size_t columns) {
  static const std::vector<Column> all = {
      {"request"},
      {"state"},
      {"prompt", true},
      {"cached", true, 3},
      {"out", true},
      {"ttft", true, 1},
      {"tok/s", true, 1},
      {"began", true, 4},
      {"decode on", false, 2},
      {"prefill on", false, 5},
      {"try", true, 6},
      {"n", true, 7},
      {"moved", true, 8},
      {"drafts", true, 9},
      {"hash", false, 10},
      {"at", false, 11},
  };
  std::vector<Row> rows;
  for (const MonitoredRequest& request : requests) rows.push_back(request_row(request, wall_us));
  return table(all, rows, columns);
}

}  // namespace troupe::cli
