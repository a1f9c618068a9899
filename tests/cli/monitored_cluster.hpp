// A cluster of three nodes and some requests as a monitor would see them, made up.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "actors/metrics.hpp"
#include "cli/monitor_model.hpp"

namespace troupe::testing {

/// 2026-01-31T12:00:00Z
inline constexpr int64_t noon_us = 1'769'860'800'000'000;

inline v1::NodeInfo node_info(const std::string& name, const std::vector<std::string>& roles,
                              uint64_t incarnation) {
  v1::NodeInfo info;
  info.set_name(name);
  for (const std::string& role : roles) info.add_roles(role);
  info.set_incarnation(incarnation);
  info.set_host("127.0.0.1");
  info.set_port(4000);
  info.set_pid(1000 + static_cast<uint32_t>(incarnation % 1000));
  info.set_health("ready");
  return info;
}

/// One process and what it measures; its clock began at another time than the wall's.
struct FakeNode {
  v1::NodeInfo info;
  actors::Metrics metrics;
  int64_t clock_behind_us = 0;
  uint64_t told = 0;
  uint64_t number = 0;

  [[nodiscard]] TimeUs clock(int64_t wall_us) const { return wall_us - clock_behind_us; }

  v1::MetricsUpdate update(int64_t wall_us) {
    v1::MetricsUpdate update = metrics.changes_after(told, 1 << 16);
    told = update.last();
    update.set_incarnation(info.incarnation());
    update.set_number(++number);
    update.set_at_us(clock(wall_us));
    update.set_wall_us(wall_us);
    return update;
  }
};

/// head (directory, router, front), prefill and decode; time moves by tell().
class FakeCluster {
 public:
  FakeCluster() {
    head.info = node_info("head", {"directory", "router", "front"}, 11);
    prefill.info = node_info("prefill", {"prefill"}, 22);
    decode.info = node_info("decode", {"decode"}, 33);
    head.clock_behind_us = noon_us - 5'000'000;
    prefill.clock_behind_us = noon_us - 700'000'000;
    decode.clock_behind_us = noon_us - 90'000'000;
    for (FakeNode* node : nodes()) {
      node->metrics.set(v1::METRIC_START_WALL_US, static_cast<uint64_t>(noon_us - 4'000'000));
      node->metrics.set(v1::METRIC_MEMORY_BYTES, 300u << 20);
    }
  }
  std::vector<FakeNode*> nodes() { return {&head, &prefill, &decode}; }

  v1::Members members() {
    v1::Members members;
    for (FakeNode* node : nodes()) *members.add_nodes() = node->info;
    return members;
  }
  /// Time passes, then everybody says what is new.
  void tell(cli::MonitorModel& model, int64_t later_us = 500'000) {
    wall_us += later_us;
    model.take_members(members(), wall_us);
    for (FakeNode* node : nodes())
      model.take_update(node->info.name(), node->update(wall_us), wall_us);
  }
  /// A stage of a request is reached now, on this node.
  void reach(FakeNode& node, uint64_t request, v1::Stage stage) {
    node.metrics.change_request(request, [&](v1::RequestTimeline& told) {
      actors::reach(told, stage, node.clock(wall_us));
    });
  }

  /// A request that went the whole way: 300 tokens of prompt, 4 blocks moved, 32 tokens out.
  void whole_request(uint64_t id) {
    begin_request(id);
    wall_us += 300'000;
    decode.metrics.change_request(id, [&](v1::RequestTimeline& told) {
      told.set_output_tokens(32);
      told.set_finish("stop");
    });
    reach(decode, id, v1::STAGE_DONE);
  }
  /// The same, up to its first token.
  void begin_request(uint64_t id) {
    reach(head, id, v1::STAGE_RECEIVED);
    wall_us += 800;
    reach(head, id, v1::STAGE_PREPARED);
    wall_us += 200;
    head.metrics.change_request(id, [](v1::RequestTimeline& told) {
      told.set_attempt(1);
      told.set_prompt_hash(0x1234567890abcdef);
      told.set_prompt_tokens(300);
      told.set_prefill_worker("prefill");
      told.set_decode_worker("decode");
    });
    reach(head, id, v1::STAGE_PLACED);
    wall_us += 1'000;
    decode.metrics.change_request(id, [](v1::RequestTimeline& told) {
      told.set_attempt(1);
      told.set_choices(1);
      told.set_prompt_tokens(300);
    });
    reach(decode, id, v1::STAGE_STARTED);
    reach(prefill, id, v1::STAGE_PREFILL_STARTED);
    wall_us += 20'000;
    reach(decode, id, v1::STAGE_TRANSFER_STARTED);
    wall_us += 30'000;
    prefill.metrics.change_request(id, [](v1::RequestTimeline& told) {
      told.set_attempt(1);
      told.set_prefill_chunks(2);
    });
    reach(prefill, id, v1::STAGE_PREFILL_DONE);
    wall_us += 1'500;
    decode.metrics.change_request(id, [](v1::RequestTimeline& told) {
      told.set_blocks_moved(4);
      told.set_bytes_moved(4u << 19);
      told.set_transport("shared_memory");
    });
    reach(decode, id, v1::STAGE_TRANSFER_DONE);
    wall_us += 500;
    reach(decode, id, v1::STAGE_SCHEDULED);
    wall_us += 9'000;
    decode.metrics.change_request(id, [](v1::RequestTimeline& told) { told.set_output_tokens(1); });
    reach(decode, id, v1::STAGE_FIRST_TOKEN);
  }

  int64_t wall_us = noon_us;
  FakeNode head, prefill, decode;
};

}  // namespace troupe::testing
