// What the user of a monitor has chosen: order, selection, help; and what keys do to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/monitor_model.hpp"

namespace troupe::cli {

enum class RequestOrder : uint8_t { newest, state, prompt, output, ttft, speed };
enum class NodeOrder : uint8_t { name, running, decode_rate, prefill_rate, blocks };
const char* name(RequestOrder order);
const char* name(NodeOrder order);

enum class MonitorKey : uint8_t {
  none,
  up,
  down,
  page_up,
  page_down,
  home,
  end,
  tab,
  sort,
  reverse,
  detail,
  help,
  pause,
  quit
};
/// For characters; arrows and the like come from the terminal library.
MonitorKey key_of(char character);

struct MonitorView {
  RequestOrder request_order = RequestOrder::newest;
  NodeOrder node_order = NodeOrder::name;
  bool requests_reversed = false;
  bool nodes_reversed = false;
  bool on_nodes = false;  ///< keys are for the table of nodes
  uint64_t selected = 0;  ///< a request; 0, or one that is gone: the first
  size_t first_node = 0;  ///< the table of nodes begins here
  bool detail = false;    ///< the timeline also where there is little room
  bool help = false;
  bool paused = false;  ///< of a replay
  bool quit = false;
};

/// In the order of the view.
std::vector<MonitoredRequest> ordered_requests(const MonitorModel& model, const MonitorView& view);
std::vector<const MonitoredNode*> ordered_nodes(const MonitorModel& model, const MonitorView& view);
/// The place of the selected request in `requests`; 0 if it isn't there.
size_t selected_index(const std::vector<MonitoredRequest>& requests, const MonitorView& view);

/// `page`: rows that page_up and page_down move by.
void on_key(MonitorView& view, MonitorKey key, const MonitorModel& model, size_t page);

}  // namespace troupe::cli
