// Requests as a monitor knows them: each node tells its part, the rest is put together here.
#include <algorithm>

#include "base/concat.hpp"
#include "base/result.hpp"
#include "cli/monitor_model.hpp"

namespace troupe::cli {
namespace {

using Stages = std::array<int64_t, v1::Stage_ARRAYSIZE>;

}  // namespace

void MonitorModel::take_timeline(const MonitoredNode& node, const v1::RequestTimeline& told) {
  if (!requests_.contains(told.request_id())) {
    if (requests_.size() >= limits::monitored_requests_max) make_room();
    requests_[told.request_id()].age = ++last_age_;
  }
  Fragment& fragment = requests_[told.request_id()].fragments[node.info.name()];
  fragment = {node.info.incarnation(), told, {}};
  for (const v1::StageTime& stage : told.stages()) {
    if (!v1::Stage_IsValid(stage.stage()) || !actors::is_time(stage.at_us())) continue;
    fragment.stages[stage.stage()] = node.metrics.to_wall(stage.at_us());
  }
  fragment.told.clear_stages();
}

void MonitorModel::make_room() {
  auto oldest = requests_.begin();
  bool oldest_is_over = false;
  for (auto it = requests_.begin(); it != requests_.end(); ++it) {
    const bool over = merge(it->first, it->second).is_over();
    if (over != oldest_is_over ? over : it->second.age < oldest->second.age) {
      oldest = it;
      oldest_is_over = over;
    }
  }
  requests_.erase(oldest);
}

bool MonitorModel::is_there(const std::string& node, uint64_t incarnation) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second.info.incarnation() == incarnation;
}

MonitoredRequest MonitorModel::merge(uint64_t id, const Entry& entry) const {
  MonitoredRequest request;
  request.id = id;
  v1::RequestTimeline& told = request.told;
  Stages& stages = request.stages;
  const Fragment* decode = nullptr;
  const std::string* decode_node = nullptr;
  const auto newest = [&](v1::Stage stage, const Fragment& fragment) {
    stages[stage] = std::max(stages[stage], fragment.stages[stage]);
  };
  for (const auto& [node, fragment] : entry.fragments) {
    told.set_attempt(std::max(told.attempt(), fragment.told.attempt()));
    told.set_prompt_tokens(std::max(told.prompt_tokens(), fragment.told.prompt_tokens()));
    told.set_prefill_chunks(std::max(told.prefill_chunks(), fragment.told.prefill_chunks()));
    if (fragment.told.prompt_hash() != 0) told.set_prompt_hash(fragment.told.prompt_hash());
    if (fragment.stages[v1::STAGE_PLACED] != 0) {
      told.set_prefill_worker(fragment.told.prefill_worker());
      told.set_decode_worker(fragment.told.decode_worker());
      told.set_predicted_us(fragment.told.predicted_us());
    }
    for (const v1::Stage stage : {v1::STAGE_RECEIVED, v1::STAGE_PREPARED, v1::STAGE_PLACED,
                                  v1::STAGE_PREFILL_STARTED, v1::STAGE_PREFILL_DONE}) {
      newest(stage, fragment);
    }
    const int64_t first = fragment.stages[v1::STAGE_FIRST_TOKEN];
    int64_t& earliest = stages[v1::STAGE_FIRST_TOKEN];
    if (first != 0 && (earliest == 0 || first < earliest)) earliest = first;
    const bool decodes = fragment.stages[v1::STAGE_STARTED] != 0;
    if (decodes && (decode == nullptr || fragment.told.attempt() > decode->told.attempt())) {
      decode = &fragment;
      decode_node = &node;
    }
  }
  if (decode == nullptr) return request;
  for (const v1::Stage stage : {v1::STAGE_STARTED, v1::STAGE_SCHEDULED, v1::STAGE_TRANSFER_STARTED,
                                v1::STAGE_TRANSFER_DONE, v1::STAGE_DONE}) {
    newest(stage, *decode);
  }
  told.set_cached_tokens(decode->told.cached_tokens());
  told.set_choices(decode->told.choices());
  told.set_output_tokens(decode->told.output_tokens());
  told.set_drafted_tokens(decode->told.drafted_tokens());
  told.set_accepted_tokens(decode->told.accepted_tokens());
  told.set_blocks_moved(decode->told.blocks_moved());
  told.set_bytes_moved(decode->told.bytes_moved());
  told.set_transport(decode->told.transport());
  told.set_finish(decode->told.finish());
  told.set_failure_code(decode->told.failure_code());
  told.set_decode_worker(*decode_node);
  request.lost = told.finish().empty() && !is_there(*decode_node, decode->incarnation);
  return request;
}

std::vector<MonitoredRequest> MonitorModel::requests() const {
  std::vector<std::pair<uint64_t, MonitoredRequest>> aged;
  aged.reserve(requests_.size());
  for (const auto& [id, entry] : requests_) aged.emplace_back(entry.age, merge(id, entry));
  std::sort(aged.begin(), aged.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<MonitoredRequest> requests;
  requests.reserve(aged.size());
  for (auto& [age, request] : aged) requests.push_back(std::move(request));
  return requests;
}

int64_t MonitoredRequest::begin_us() const {
  int64_t first = 0;
  for (const int64_t at : stages) {
    if (at != 0 && (first == 0 || at < first)) first = at;
  }
  return first;
}

int64_t MonitoredRequest::end_us() const {
  return *std::max_element(stages.begin(), stages.end());
}

std::optional<int64_t> MonitoredRequest::ttft_us() const {
  if (at(v1::STAGE_FIRST_TOKEN) == 0) return std::nullopt;
  return at(v1::STAGE_FIRST_TOKEN) - begin_us();
}

std::optional<double> MonitoredRequest::tokens_per_s(int64_t wall_us) const {
  const int64_t first = at(v1::STAGE_FIRST_TOKEN);
  const int64_t last = is_over() ? at(v1::STAGE_DONE) : wall_us;
  if (first == 0 || last <= first || told.output_tokens() < 2) return std::nullopt;
  return static_cast<double>(told.output_tokens() - 1) * 1e6 / static_cast<double>(last - first);
}

std::string MonitoredRequest::state() const {
  if (!told.finish().empty()) return told.finish();
  if (lost) return "lost";
  const auto under_way = [this](v1::Stage from, v1::Stage to) {
    return at(from) != 0 && at(to) == 0;
  };
  if (at(v1::STAGE_FIRST_TOKEN) != 0) return "decode";
  if (under_way(v1::STAGE_PREFILL_STARTED, v1::STAGE_PREFILL_DONE)) return "prefill";
  if (under_way(v1::STAGE_TRANSFER_STARTED, v1::STAGE_TRANSFER_DONE)) return "transfer";
  if (at(v1::STAGE_SCHEDULED) != 0) return "prompt";
  if (at(v1::STAGE_STARTED) != 0) return "queued";
  if (at(v1::STAGE_PLACED) != 0) return "placed";
  return "prepared";
}

}  // namespace troupe::cli
