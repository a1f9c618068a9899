#include "cli/monitor_json.hpp"

#include "actors/metric_table.hpp"
#include "base/concat.hpp"
#include "base/result.hpp"
#include "cli/screen_text.hpp"

namespace troupe::cli {
namespace {

using Json = nlohmann::ordered_json;

double seconds(int64_t us) {
  return static_cast<double>(us) / 1e6;
}

Json histogram_json(const actors::Histogram& histogram) {
  Json body;
  body["count"] = histogram.count();
  body["sum"] = static_cast<double>(histogram.sum_us()) / 1e6;
  const auto seconds_at = [&](double q) { return histogram.percentile_us(q) / 1e6; };
  body["p50"] = seconds_at(0.5);
  body["p90"] = seconds_at(0.9);
  body["p99"] = seconds_at(0.99);
  body["max"] = static_cast<double>(histogram.max_us()) / 1e6;
  return body;
}

Json metrics_json(const MonitoredNode& node) {
  Json body = Json::object();
  for (const actors::MetricInfo& row : actors::metric_table()) {
    const uint64_t value = node.value(row.metric);
    const double factor = actors::scale(row.metric);
    if (factor == 1.0) {
      body[row.name] = value;
    } else {
      body[row.name] = static_cast<double>(value) * factor;
    }
  }
  return body;
}

Json node_json(const MonitoredNode& node, int64_t wall_us) {
  Json body;
  body["name"] = node.info.name();
  body["roles"] = Json::array();
  for (const std::string& role : node.info.roles()) body["roles"].push_back(role);
  body["health"] = node.info.health();
  body["address"] = concat(node.info.host(), ":", node.info.port());
  body["pid"] = node.info.pid();
  body["incarnation"] = short_id(node.info.incarnation(), 16);
  const auto silence_us = node.silence_us(wall_us);
  body["heard_seconds_ago"] = silence_us ? Json(seconds(*silence_us)) : Json();
  const auto rate = [&](v1::Metric metric) {
    const auto known = node.rate(metric);
    return known ? Json(*known) : Json();
  };
  body["prefill_tokens_per_second"] = rate(v1::METRIC_PREFILL_TOKENS);
  body["decode_tokens_per_second"] = rate(v1::METRIC_DECODE_TOKENS);
  body["metrics"] = metrics_json(node);
  body["distributions"] = Json::object();
  for (const actors::DistributionInfo& row : actors::distribution_table()) {
    body["distributions"][row.name] = histogram_json(node.metrics.distribution(row.distribution));
  }
  return body;
}

Json request_json(const MonitoredRequest& request, int64_t wall_us) {
  const v1::RequestTimeline& told = request.told;
  Json body;
  body["id"] = short_id(request.id, 16);
  body["state"] = request.state();
  body["attempt"] = told.attempt();
  body["choices"] = told.choices();
  body["prompt_hash"] = told.prompt_hash() == 0 ? Json() : Json(short_id(told.prompt_hash(), 16));
  body["prompt_tokens"] = told.prompt_tokens();
  body["cached_tokens"] = told.cached_tokens();
  body["output_tokens"] = told.output_tokens();
  body["draft_tokens"] = told.drafted_tokens();
  body["accepted_draft_tokens"] = told.accepted_tokens();
  body["prefill_worker"] = told.prefill_worker();
  body["prefill_chunks"] = told.prefill_chunks();
  body["decode_worker"] = told.decode_worker();
  body["blocks_moved"] = told.blocks_moved();
  body["bytes_moved"] = told.bytes_moved();
  body["transport"] = told.transport();
  body["finish_reason"] = told.finish();
  body["failure"] = told.failure_code() == 0 ? "" : name(static_cast<Code>(told.failure_code()));
  body["predicted_seconds"] = static_cast<double>(told.predicted_us()) / 1e6;
  const auto ttft = request.ttft_us();
  body["ttft_seconds"] = ttft ? Json(seconds(*ttft)) : Json();
  const auto speed = request.tokens_per_s(wall_us);
  body["tokens_per_second"] = speed ? Json(*speed) : Json();
  body["begin_time"] = seconds(request.begin_us());
  body["stages"] = Json::object();
  for (int stage = 1; stage < v1::Stage_ARRAYSIZE; ++stage) {
    const int64_t at = request.at(static_cast<v1::Stage>(stage));
    if (at == 0) continue;
    body["stages"][actors::name(static_cast<v1::Stage>(stage))] = seconds(at - request.begin_us());
  }
  return body;
}

}  // namespace

Json to_json(const MonitorModel& model) {
  Json body;
  body["cluster"] = model.cluster();
  body["time"] = seconds(model.wall_us());
  body["nodes"] = Json::array();
  for (const auto& [name, node] : model.nodes()) {
    body["nodes"].push_back(node_json(node, model.wall_us()));
  }
  body["prefill_tokens_per_second"] = model.total_rate(v1::METRIC_PREFILL_TOKENS);
  body["decode_tokens_per_second"] = model.total_rate(v1::METRIC_DECODE_TOKENS);
  body["ttft_seconds"] = histogram_json(model.recent(v1::DISTRIBUTION_TTFT));
  body["itl_seconds"] = histogram_json(model.recent(v1::DISTRIBUTION_ITL));
  body["requests"] = Json::array();
  for (const MonitoredRequest& request : model.requests()) {
    body["requests"].push_back(request_json(request, model.wall_us()));
  }
  return body;
}

}  // namespace troupe::cli
