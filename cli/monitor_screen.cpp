#include "cli/monitor_screen.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "cli/screen_text.hpp"

namespace troupe::cli {
namespace {

constexpr size_t timeline_rows = 8;

ScreenLine header(const MonitorModel& model, const MonitorStatus& status, size_t columns) {
  const std::string left =
      concat(" troupe monitor  ", printable(model.cluster()), "  ", printable(status.source));
  const std::string right = concat("q quit  ? help  ", time_of_day(status.wall_us), " ");
  const size_t space =
      columns > left.size() + right.size() ? columns - left.size() - right.size() : 1;
  return fit({{left + std::string(space, ' ') + right, Style::title}}, columns);
}

ScreenLine footer(const MonitorView& view, const MonitorStatus& status, size_t columns) {
  if (!status.trouble.empty()) {
    return fit({{" " + printable(status.trouble), Style::bad}}, columns);
  }
  const bool reversed = view.on_nodes ? view.nodes_reversed : view.requests_reversed;
  const char* order = view.on_nodes ? name(view.node_order) : name(view.request_order);
  return fit(
      {{concat(" ", view.on_nodes ? "nodes" : "requests", " by ", order,
               reversed ? ", reversed" : "", "   s sort  r reverse  Tab other table  arrows move"),
        Style::dim}},
      columns);
}

/// `lines` with at most `rows` of them, the first (a header) always; `first` counts after it.
void append_window(std::vector<ScreenLine>& to, std::vector<ScreenLine> lines, size_t first,
                   size_t rows) {
  if (rows == 0 || lines.empty()) return;
  to.push_back(std::move(lines[0]));
  const size_t entries = lines.size() - 1;
  const size_t shown = std::min(entries, rows - 1);
  first = std::min(first, entries - shown);
  for (size_t i = 0; i < shown; ++i) to.push_back(std::move(lines[1 + first + i]));
}

void append_requests(std::vector<ScreenLine>& to, const std::vector<MonitoredRequest>& requests,
                     const MonitorView& view, int64_t wall_us, ScreenSize area) {
  std::vector<ScreenLine> lines = request_lines(requests, wall_us, area.columns);
  if (requests.empty()) {
    lines.push_back(fit({{"no requests yet", Style::dim}}, area.columns));
    append_window(to, std::move(lines), 0, area.rows);
    return;
  }
  const size_t selected = selected_index(requests, view);
  if (!view.on_nodes) lines[1 + selected] = restyled(lines[1 + selected], Style::selected);
  // The selected one stays in sight, near the middle of a long list.
  const size_t half = area.rows / 2;
  append_window(to, std::move(lines), selected > half ? selected - half : 0, area.rows);
}

/// How the rows between the summary and the footer are shared out.
struct Shares {
  size_t nodes = 0;
  size_t requests = 0;
  size_t timeline = 0;
};

Shares share_out(const MonitorModel& model, const MonitorView& view, bool any_request, size_t rows,
                 size_t screen_rows) {
  Shares shares;
  const bool tall = screen_rows >= limits::timeline_rows_min;
  if (any_request && (tall || view.detail)) shares.timeline = std::min(timeline_rows, rows / 2);
  rows -= shares.timeline;
  // On a low screen the timeline takes the place of the nodes.
  const bool with_nodes = tall || !view.detail || !any_request;
  if (with_nodes) {
    const size_t wanted = std::max<size_t>(model.nodes().size(), 1) + 1;
    shares.nodes = std::min(wanted, view.on_nodes ? rows * 3 / 4 : std::max<size_t>(rows / 2, 4));
  }
  shares.nodes = std::min(shares.nodes, rows);
  shares.requests = rows - shares.nodes;
  return shares;
}

std::vector<ScreenLine> too_small(ScreenSize size) {
  const std::string text =
      concat("at least ", limits::screen_columns_min, "x", limits::screen_rows_min, ", this is ",
             size.columns, "x", size.rows);
  std::vector<ScreenLine> lines(size.rows, fit({}, size.columns));
  if (!lines.empty()) lines[0] = fit({{text, Style::warning}}, size.columns);
  return lines;
}

}  // namespace

std::vector<ScreenLine> help_lines() {
  std::vector<ScreenLine> lines;
  for (const char* text : {
           "",
           "  arrows, j k      pick a request (or scroll the nodes)",
           "  PgUp PgDn g G    a page, the first, the last",
           "  Tab              keys go to the nodes, or back to the requests",
           "  s  r             sort by the next column; reverse the order",
           "  Enter            the timeline of the request, also on a low screen",
           "  space            pause a replay",
           "  Ctrl-L           paint the whole screen again",
           "  q, Ctrl-C        quit; the cluster does not notice",
           "",
           "  tokens/s are of the last 5 s, percentiles of the last minute.",
           "  TTFT: from the start on a decode worker to the first token.",
           "  ITL: between tokens; those of one step share its time.",
           "  A request is known by its id; of its prompt only a length and a hash are shown.",
       }) {
    lines.push_back({{text, Style::plain}});
  }
  return lines;
}

std::vector<ScreenLine> layout(const MonitorModel& model, const MonitorView& view,
                               const MonitorStatus& status, ScreenSize size) {
  if (size.columns < limits::screen_columns_min || size.rows < limits::screen_rows_min) {
    return too_small(size);
  }
  std::vector<ScreenLine> lines = {header(model, status, size.columns)};
  if (view.help) {
    for (ScreenLine& line : help_lines()) lines.push_back(std::move(line));
  } else {
    for (ScreenLine& line : summary_lines(model, size.columns)) lines.push_back(std::move(line));
    const std::vector<MonitoredRequest> requests = ordered_requests(model, view);
    const Shares shares =
        share_out(model, view, !requests.empty(), size.rows - lines.size() - 1, size.rows);
    append_window(lines, node_lines(model, view, status.wall_us, size.columns), view.first_node,
                  shares.nodes);
    append_requests(lines, requests, view, status.wall_us, {size.columns, shares.requests});
    while (lines.size() + shares.timeline + 1 < size.rows) lines.push_back({});
    if (shares.timeline > 0) {
      const MonitoredRequest& selected = requests[selected_index(requests, view)];
      append_window(lines, timeline_lines(selected, status.wall_us, size.columns), 0,
                    shares.timeline);
    }
  }
  lines.resize(size.rows - 1);
  lines.push_back(footer(view, status, size.columns));
  for (ScreenLine& line : lines) line = fit(std::move(line), size.columns);
  return lines;
}

std::vector<ScreenLine> page(const MonitorModel& model, const MonitorStatus& status,
                             size_t columns) {
  const MonitorView view;
  std::vector<ScreenLine> lines = {
      {{concat("cluster ", printable(model.cluster()), "  ", printable(status.source), "  ",
               time_of_day(status.wall_us))}}};
  if (!status.trouble.empty()) lines.push_back({{printable(status.trouble)}});
  const auto append = [&lines](std::vector<ScreenLine> more) {
    for (ScreenLine& line : more) lines.push_back(std::move(line));
  };
  append(summary_lines(model, columns));
  lines.emplace_back();
  append(node_lines(model, view, status.wall_us, columns));
  lines.emplace_back();
  const std::vector<MonitoredRequest> requests = ordered_requests(model, view);
  append(request_lines(requests, status.wall_us, columns));
  if (!requests.empty()) {
    lines.emplace_back();
    append(timeline_lines(requests[0], status.wall_us, columns));
  }
  return lines;
}

}  // namespace troupe::cli
