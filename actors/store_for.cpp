#include "actors/store_for.hpp"

#include <algorithm>

namespace troupe::actors {

const v1::NodeInfo* store_for(const v1::Members& members, const v1::NodeInfo& own) {
  const auto is_better = [&own](const v1::NodeInfo& a, const v1::NodeInfo& b) {
    const bool a_near = a.host() == own.host();
    const bool b_near = b.host() == own.host();
    return a_near != b_near ? a_near : a.name() < b.name();
  };
  const v1::NodeInfo* best = nullptr;
  for (const v1::NodeInfo& node : members.nodes()) {
    const bool is_store = std::ranges::count(node.roles(), "kv_store") > 0;
    if (!is_store || node.health() == "draining" || node.name() == own.name()) continue;
    if (best == nullptr || is_better(node, *best)) best = &node;
  }
  return best;
}

}  // namespace troupe::actors
