#include "tests/sim/plan.hpp"

#include <algorithm>

#include "actors/limits.hpp"
#include "base/concat.hpp"

namespace troupe::sim {
namespace {

constexpr uint32_t long_tokens = 1200;  // fits every pool, with the longest prompt
constexpr int32_t vocabulary = 263;     // of text::small_spec()

void add_node(Plan& plan, Random& random, std::string name, std::vector<std::string> roles) {
  NodePlan node;
  node.name = std::move(name);
  node.roles = std::move(roles);
  node.pages = static_cast<uint32_t>(random.between(32, 96));
  node.step_us = random.between(200, 5000);
  node.start_us = random.chance(0.2) ? random.between(0, 3 * second) : random.between(0, 50 * ms);
  plan.nodes.push_back(std::move(node));
}

void make_nodes(Plan& plan, Random& random) {
  const uint64_t shape = random.below(4);
  if (shape == 0) {
    add_node(plan, random, "all", {"directory", "router", "front", "prefill", "decode"});
  } else if (shape == 1) {
    add_node(plan, random, "head", {"directory", "router", "front"});
  } else {
    add_node(plan, random, "directory", {"directory"});
    add_node(plan, random, "router", {"router"});
    add_node(plan, random, "front", {"front"});
  }
  if (shape != 0) {
    const int64_t decodes = random.between(1, 3);
    const int64_t prefills = random.between(0, 2);
    for (int64_t i = 0; i < decodes; ++i) {
      add_node(plan, random, concat("decode", i), {"decode"});
    }
    for (int64_t i = 0; i < prefills; ++i) {
      add_node(plan, random, concat("prefill", i), {"prefill"});
    }
    if (random.chance(0.2)) add_node(plan, random, "both", {"prefill", "decode"});
  }
  if (random.chance(0.4)) add_node(plan, random, "store", {"kv_store"});
  if (random.chance(0.5)) {
    add_node(plan, random, "draft", {"draft"});
    plan.nodes.back().lies = random.chance(0.5);
  }
  if (random.chance(0.3)) add_node(plan, random, "monitor", {"monitor"});
  const int64_t clients = random.between(1, 2);
  for (int64_t i = 0; i < clients; ++i) add_node(plan, random, concat("client", i), {});
}

std::vector<int32_t> random_tokens(Random& random, size_t count) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.below(vocabulary));
  return tokens;
}

actors::GenerateRequest make_request(Random& random, const std::vector<int32_t>& shared) {
  actors::GenerateRequest request;
  if (random.chance(0.15)) {
    request.text = std::string(static_cast<size_t>(random.between(1, 300)), 'x');
    for (char& c : *request.text) c = static_cast<char>('a' + random.below(26));
  } else {
    const size_t common = random.chance(0.6) ? random.below(shared.size()) : 0;
    request.token_ids.assign(shared.begin(), shared.begin() + static_cast<ptrdiff_t>(common));
    const auto own = random_tokens(random, static_cast<size_t>(random.between(1, 200)));
    request.token_ids.insert(request.token_ids.end(), own.begin(), own.end());
  }
  request.sampling.max_tokens = static_cast<uint32_t>(random.between(1, 48));
  request.sampling.temperature = random.chance(0.3) ? 0.0f : 1.0f;
  request.sampling.seed = random.next();
  request.has_seed = random.chance(0.8);
  request.choices = random.chance(0.25) ? static_cast<uint32_t>(random.between(2, 3)) : 1;
  request.drafts = random.chance(0.5);
  if (random.chance(0.3)) {
    request.sampling.min_tokens =
        static_cast<uint32_t>(random.below(request.sampling.max_tokens + 1));
  }
  if (random.chance(0.2)) request.sampling.repetition_penalty = 1.2f;
  if (random.chance(0.2)) request.sampling.top_logprobs = 2;
  if (random.chance(0.3)) request.stop.push_back(random.chance(0.5) ? "e" : "he");
  return request;
}

/// Longer than anybody waits for it: whoever misses the cancel is seen.
void cancel_later(RequestPlan& planned, TimeUs delay) {
  planned.cancel_us = planned.at_us + delay;
  planned.request.sampling.max_tokens = long_tokens;
  planned.request.sampling.min_tokens = long_tokens;
  planned.request.stop.clear();
  planned.request.choices = 1;
}

RequestPlan make_planned(const Plan& plan, Random& random, bool burst, TimeUs last_us) {
  static const std::vector<int32_t> shared = [] {
    Random fixed(1);
    return random_tokens(fixed, 260);
  }();
  std::vector<size_t> clients;
  for (size_t slot = 0; slot < plan.nodes.size(); ++slot) {
    if (plan.nodes[slot].is_client()) clients.push_back(slot);
  }
  RequestPlan planned;
  planned.client = random.pick(clients);
  planned.at_us = burst ? random.between(500 * ms, 520 * ms) : random.between(0, last_us);
  planned.at_us = std::max(planned.at_us, plan.nodes[planned.client].start_us + 1);
  planned.request = make_request(random, shared);
  // What was asked before is in stores and on the mind of draft actors.
  if (!plan.requests.empty() && random.chance(0.4)) {
    planned.request = random.pick(plan.requests).request;
    engine::SamplingParams& sampling = planned.request.sampling;
    if (sampling.max_tokens == long_tokens) sampling.max_tokens = sampling.min_tokens = 32;
  }
  if (!random.chance(0.2)) return planned;
  const TimeUs delay =
      random.chance(0.5) ? random.between(0, 100 * ms) : random.between(0, 3 * second);
  planned.cancel_us = planned.at_us + delay;
  if (random.chance(0.5)) cancel_later(planned, delay);
  return planned;
}

void make_requests(Plan& plan, Random& random) {
  const int64_t count = random.chance(0.2) ? random.between(12, 40) : random.between(2, 12);
  const bool burst = random.chance(0.3);
  const TimeUs last_us = std::max<TimeUs>(plan.faults_end_us, 2 * second);
  for (int64_t i = 0; i < count; ++i) {
    plan.requests.push_back(make_planned(plan, random, burst, last_us));
  }
  if (!plan.faults.empty()) return;
  // Where nothing else goes wrong, what a cancel leaves behind is seen at once: here the last ones
  // are cancelled, in whatever state they are.
  const int64_t cancels = random.between(1, 4);
  for (int64_t i = 0; i < cancels; ++i) {
    RequestPlan planned = make_planned(plan, random, false, 2 * second);
    planned.at_us = std::max(planned.at_us, 3 * second + random.between(0, 200 * ms));
    cancel_later(planned,
                 random.chance(0.5) ? random.between(0, 30 * ms) : random.between(30 * ms, second));
    plan.requests.push_back(std::move(planned));
  }
}

/// Most are short; the others outlast leases and time-outs.
TimeUs make_duration(Random& random) {
  return random.chance(0.7) ? random.between(20 * ms, 3 * second)
                            : random.between(3 * second, 12 * second);
}

void make_faults(Plan& plan, Random& random) {
  static const std::vector<FaultKind> kinds = {
      FaultKind::kill,    FaultKind::kill,  FaultKind::vanish,    FaultKind::stop,
      FaultKind::pause,   FaultKind::pause, FaultKind::partition, FaultKind::one_way,
      FaultKind::isolate, FaultKind::reset, FaultKind::slow_wire, FaultKind::slow_device,
      FaultKind::drain};
  std::vector<size_t> workers;
  for (size_t slot = 0; slot < plan.nodes.size(); ++slot) {
    if (plan.nodes[slot].works()) workers.push_back(slot);
  }
  const int64_t count = random.chance(0.25) ? 0 : random.between(1, 6);
  for (int64_t i = 0; i < count; ++i) {
    FaultPlan fault;
    fault.kind = random.pick(kinds);
    fault.at_us = random.between(0, 6 * second);
    fault.duration_us = make_duration(random);
    fault.slot = random.below(plan.nodes.size());
    if (fault.kind == FaultKind::drain) fault.slot = random.pick(workers);
    fault.other = random.below(plan.nodes.size());
    fault.factor = static_cast<double>(random.between(5, 100));
    plan.faults_end_us = std::max(plan.faults_end_us, fault.at_us + fault.duration_us);
    plan.faults.push_back(fault);
  }
}

}  // namespace

bool NodePlan::has(const std::string& role) const {
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

const char* name(FaultKind kind) {
  static constexpr const char* names[] = {"kill",      "vanish",      "stop",    "pause",
                                          "partition", "one way",     "isolate", "reset",
                                          "slow wire", "slow device", "drain",   "hang"};
  return names[static_cast<size_t>(kind)];
}

Plan make_plan(Random& random) {
  Plan plan;
  make_nodes(plan, random);
  make_faults(plan, random);
  make_requests(plan, random);
  plan.duplicates = random.chance(0.3);
  plan.memory_tokens = random.chance(0.4) ? 2 : 0;
  if (random.chance(0.3)) {
    plan.read_fail = 0.05;
    plan.read_wrong = 0.1;
    plan.read_silent = 0.01;
  }
  // Not drawn, so that what a seed stands for stays what it was.
  if (plan.nodes.front().pages % 2 == 0) {
    plan.windows = {100};
    // The longest request takes that many more; stores keep or have no disk as before.
    for (NodePlan& node : plan.nodes) node.pages += 8;
  }
  return plan;
}

Plan make_silence(Random& random, FaultKind kind) {
  Plan plan = make_plan(random);
  plan.faults.clear();
  plan.silence_us = 3 * second;
  plan.connections_stay = true;
  const TimeUs duration = actors::limits::client_silence_us + 6 * second;
  plan.faults_end_us = plan.silence_us + duration;
  for (size_t slot = 0; slot < plan.nodes.size(); ++slot) {
    // The requests take longer than the silence.
    plan.nodes[slot].step_us = 25 * ms;
    plan.nodes[slot].start_us = 0;
    if (!plan.nodes[slot].is_client()) continue;
    for (size_t other = 0; other < plan.nodes.size(); ++other) {
      if (other == slot) continue;
      plan.faults.push_back({kind, plan.silence_us, duration, slot, other});
      if (kind == FaultKind::pause) break;
    }
  }
  plan.requests.resize(std::min<size_t>(plan.requests.size(), 3));
  for (RequestPlan& planned : plan.requests) {
    planned.at_us = random.between(1, second);
    cancel_later(planned, 0);
    planned.cancel_us = 0;
    planned.request.drafts = false;
  }
  return plan;
}

Plan make_standing(Random& random, FaultKind kind) {
  Plan plan;
  for (const char* role : {"directory", "router", "front", "router", "front", "decode", "decode",
                           "prefill", "draft", "kv_store"}) {
    add_node(plan, random, concat(role, plan.nodes.size()), {role});
  }
  for (int i = 0; i < 2; ++i) add_node(plan, random, concat("client", i), {});
  for (NodePlan& node : plan.nodes) node.start_us = 0;
  plan.connections_stay = true;
  const TimeUs from = 2 * second;
  const TimeUs duration = 2 * actors::limits::wait_new_us;
  plan.faults_end_us = from + duration;
  constexpr size_t first_router = 1;
  constexpr size_t first_front = 2;
  for (const size_t slot : {first_router, first_front}) {
    plan.faults.push_back({kind, from, duration, slot, slot});
  }
  for (int i = 0; i < 12; ++i) {
    RequestPlan planned = make_planned(plan, random, false, plan.faults_end_us);
    planned.cancel_us = 0;
    planned.request.sampling.max_tokens = 16;
    planned.request.sampling.min_tokens = 0;
    plan.requests.push_back(std::move(planned));
  }
  return plan;
}

std::string Plan::describe() const {
  std::string text;
  for (const NodePlan& node : nodes) {
    text += concat("node ", node.name, ":");
    for (const std::string& role : node.roles) text += concat(" ", role);
    if (node.works()) text += concat(", ", node.pages, " pages, ", node.step_us, " us a step");
    if (node.lies) text += ", lies";
    text += concat(", from ", node.start_us, " us\n");
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    const RequestPlan& one = requests[i];
    text +=
        concat("request ", i, " of ", nodes[one.client].name, " at ", one.at_us,
               " us: ", one.request.text ? one.request.text->size() : one.request.token_ids.size(),
               one.request.text ? " bytes" : " tokens", ", up to ", one.request.sampling.max_tokens,
               ", n ", one.request.choices);
    if (one.cancel_us != 0) text += concat(", cancelled at ", one.cancel_us, " us");
    text += "\n";
  }
  for (const FaultPlan& fault : faults) {
    text += concat(name(fault.kind), " of ", nodes[fault.slot].name, " (", nodes[fault.other].name,
                   ") at ", fault.at_us, " us for ", fault.duration_us, " us\n");
  }
  return text + concat(duplicates ? "with" : "without", " duplicates, reads fail ", read_fail,
                       " wrong ", read_wrong, " silent ", read_silent, ", draws depend on ",
                       memory_tokens, " tokens (0: all), ", windows.size(),
                       " groups with a window\n");
}

}  // namespace troupe::sim
