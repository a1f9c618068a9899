// Any lines: what the parser takes is written as the same line again, and no event, whatever it
// says, breaks the model or the screen. Sources are compiled in, so that no actor library is
// needed.
#include "actors/histogram.cpp"
#include "actors/metrics.cpp"
#include "actors/metrics_subscriber.cpp"
#include "cli/message_json.cpp"
#include "cli/monitor_model.cpp"
#include "cli/monitor_requests.cpp"
#include "cli/monitor_screen.cpp"
#include "cli/monitor_summary.cpp"
#include "cli/monitor_tables.cpp"
#include "cli/monitor_timeline.cpp"
#include "cli/monitor_view.cpp"
#include "cli/recording_parser.cpp"
#include "cli/screen_table.cpp"
#include "cli/screen_text.cpp"

using namespace troupe;
using namespace troupe::cli;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  RecordingParser parser;
  MonitorModel model("fuzz");
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    auto event = parser.take_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!event) {
      if (event.error().what.empty()) std::abort();
      break;
    }
    if (!*event) continue;
    const std::string line = to_json_line(**event);
    v1::RecordedEvent again;
    if (!from_json_line(line, again).ok() || to_json_line(again) != line) std::abort();
    if (again.has_members()) model.take_members(again.members(), again.wall_us());
    if (again.has_update()) model.take_update(again.node(), again.update(), again.wall_us());
  }
  MonitorView view;
  view.request_order = static_cast<RequestOrder>(size % 6);
  view.node_order = static_cast<NodeOrder>(size % 5);
  const ScreenSize screen{60 + size % 150, 16 + size % 50};
  if (layout(model, view, {"replay", "", model.wall_us()}, screen).size() != screen.rows) {
    std::abort();
  }
  return 0;
}
