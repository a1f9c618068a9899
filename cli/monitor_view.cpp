#include "cli/monitor_view.hpp"

#include <algorithm>
#include <array>

namespace troupe::cli {
namespace {

constexpr std::array request_orders = {"newest", "state", "prompt", "output", "ttft", "tokens/s"};
constexpr std::array node_orders = {"name", "running", "decode", "prefill", "blocks"};

template <class Order, size_t count>
Order next(Order order, const std::array<const char*, count>&) {
  return static_cast<Order>((static_cast<size_t>(order) + 1) % count);
}

/// What a request is sorted by, largest first.
double weight(const MonitoredRequest& request, RequestOrder order, int64_t wall_us) {
  switch (order) {
    case RequestOrder::prompt:
      return request.told.prompt_tokens();
    case RequestOrder::output:
      return request.told.output_tokens();
    case RequestOrder::ttft:
      return static_cast<double>(request.ttft_us().value_or(-1));
    case RequestOrder::speed:
      return request.tokens_per_s(wall_us).value_or(-1);
    default:
      return 0;
  }
}

double weight(const MonitoredNode& node, NodeOrder order) {
  switch (order) {
    case NodeOrder::running:
      return static_cast<double>(node.value(v1::METRIC_RUNNING_SEQUENCES));
    case NodeOrder::decode_rate:
      return node.rate(v1::METRIC_DECODE_TOKENS).value_or(-1);
    case NodeOrder::prefill_rate:
      return node.rate(v1::METRIC_PREFILL_TOKENS).value_or(-1);
    case NodeOrder::blocks:
      return static_cast<double>(node.value(v1::METRIC_DEVICE_BLOCKS)) -
             static_cast<double>(node.value(v1::METRIC_DEVICE_BLOCKS_FREE));
    default:
      return 0;
  }
}

/// Where a move of the keys leads from `at`, in a list of `count`.
size_t moved(size_t at, MonitorKey key, size_t count, size_t page) {
  const size_t last = count == 0 ? 0 : count - 1;
  at = std::min(at, last);
  switch (key) {
    case MonitorKey::up:
      return at - std::min<size_t>(at, 1);
    case MonitorKey::down:
      return std::min(at + 1, last);
    case MonitorKey::page_up:
      return at - std::min(at, page);
    case MonitorKey::page_down:
      return std::min(at + page, last);
    case MonitorKey::home:
      return 0;
    case MonitorKey::end:
      return last;
    default:
      return at;
  }
}

void move(MonitorView& view, MonitorKey key, const MonitorModel& model, size_t page) {
  if (view.on_nodes) {
    view.first_node = moved(view.first_node, key, model.nodes().size(), page);
    return;
  }
  const std::vector<MonitoredRequest> requests = ordered_requests(model, view);
  if (requests.empty()) return;
  view.selected = requests[moved(selected_index(requests, view), key, requests.size(), page)].id;
}

}  // namespace

const char* name(RequestOrder order) {
  return request_orders[static_cast<size_t>(order)];
}

const char* name(NodeOrder order) {
  return node_orders[static_cast<size_t>(order)];
}

MonitorKey key_of(char character) {
  switch (character) {
    case 'k':
      return MonitorKey::up;
    case 'j':
      return MonitorKey::down;
    case 'g':
      return MonitorKey::home;
    case 'G':
      return MonitorKey::end;
    case '\t':
      return MonitorKey::tab;
    case 's':
      return MonitorKey::sort;
    case 'r':
      return MonitorKey::reverse;
    case '\r':
    case '\n':
      return MonitorKey::detail;
    case '?':
    case 'h':
      return MonitorKey::help;
    case ' ':
      return MonitorKey::pause;
    case 'q':
    case 'Q':
      return MonitorKey::quit;
    default:
      return MonitorKey::none;
  }
}

std::vector<MonitoredRequest> ordered_requests(const MonitorModel& model, const MonitorView& view) {
  std::vector<MonitoredRequest> requests = model.requests();
  const RequestOrder order = view.request_order;
  if (order == RequestOrder::state) {
    std::stable_sort(requests.begin(), requests.end(), [](const auto& a, const auto& b) {
      return a.is_over() != b.is_over() ? b.is_over() : a.state() < b.state();
    });
  } else if (order != RequestOrder::newest) {
    std::stable_sort(requests.begin(), requests.end(), [&](const auto& a, const auto& b) {
      return weight(a, order, model.wall_us()) > weight(b, order, model.wall_us());
    });
  }
  if (view.requests_reversed) std::reverse(requests.begin(), requests.end());
  return requests;
}

std::vector<const MonitoredNode*> ordered_nodes(const MonitorModel& model,
                                                const MonitorView& view) {
  std::vector<const MonitoredNode*> nodes;
  for (const auto& [name, node] : model.nodes()) nodes.push_back(&node);
  std::stable_sort(nodes.begin(), nodes.end(), [&](const auto* a, const auto* b) {
    return weight(*a, view.node_order) > weight(*b, view.node_order);
  });
  if (view.nodes_reversed) std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

size_t selected_index(const std::vector<MonitoredRequest>& requests, const MonitorView& view) {
  const auto found = std::find_if(requests.begin(), requests.end(),
                                  [&](const auto& request) { return request.id == view.selected; });
  return found == requests.end() ? 0 : static_cast<size_t>(found - requests.begin());
}

void on_key(MonitorView& view, MonitorKey key, const MonitorModel& model, size_t page) {
  switch (key) {
    case MonitorKey::none:
      return;
    case MonitorKey::tab:
      view.on_nodes = !view.on_nodes;
      return;
    case MonitorKey::sort:
      if (view.on_nodes) {
        view.node_order = next(view.node_order, node_orders);
      } else {
        view.request_order = next(view.request_order, request_orders);
      }
      return;
    case MonitorKey::reverse:
      (view.on_nodes ? view.nodes_reversed : view.requests_reversed) ^= true;
      return;
    case MonitorKey::detail:
      view.detail = !view.detail;
      return;
    case MonitorKey::help:
      view.help = !view.help;
      return;
    case MonitorKey::pause:
      view.paused = !view.paused;
      return;
    case MonitorKey::quit:
      view.quit = true;
      return;
    default:
      move(view, key, model, std::max<size_t>(page, 1));
  }
}

}  // namespace troupe::cli
