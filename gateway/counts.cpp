#include "gateway/counts.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "gateway/limits.hpp"

namespace troupe::gateway {

void Spread::add(double seconds) {
  const auto bound = std::ranges::lower_bound(bounds_s, seconds);
  counts_[static_cast<size_t>(bound - bounds_s.begin())] += 1;
  count_ += 1;
  sum_ += seconds;
}

void Spread::tell(MetricLabels labels, MetricFamilies& families) const {
  std::vector<Bucket> buckets;
  uint64_t below = 0;
  for (size_t i = 0; i < bounds_s.size(); ++i) {
    buckets.push_back({bounds_s[i], below += counts_[i]});
  }
  families.add(std::move(labels), buckets, count_, sum_);
}

void Counts::reply(const std::string& route, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  replies_[{route, status}] += 1;
  durations_[route].add(seconds);
}

const std::string& Counts::told(const std::string& tenant) {
  static const std::string other = "other";
  if (tenants_.size() < limits::tenants_told_max) tenants_.insert(tenant);
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? other : *found;
}

StageTimes& Counts::stages(const std::string& tenant, const std::string& route) {
  const std::lock_guard lock(mutex_);
  return stages_[{told(tenant), route}];
}

void Counts::add(Spread& spread, double seconds) {
  const std::lock_guard lock(mutex_);
  spread.add(seconds);
}

void Counts::ended(StageTimes& stages, const actors::GenerateResult& result) {
  const std::lock_guard lock(mutex_);
  stages.queue.add(result.queue_ms / 1e3);
  stages.prefill.add(result.prefill_ms / 1e3);
  if (result.blocks_moved > 0) stages.transfer.add(result.handover_ms / 1e3);
  stages.decode.add(result.decode_ms / 1e3);
}

void Counts::parsed(double seconds) {
  const std::lock_guard lock(mutex_);
  parse_.add(seconds);
}

void Counts::usage(const std::string& tenant, const Usage& usage) {
  const std::lock_guard lock(mutex_);
  Usage& sum = usage_[told(tenant)];
  sum.prompt_tokens += usage.prompt_tokens;
  sum.output_tokens += usage.output_tokens;
  sum.cached_tokens += usage.cached_tokens;
  sum.accepted += usage.accepted;
}

void Counts::cancelled() {
  const std::lock_guard lock(mutex_);
  cancelled_ += 1;
}

void Counts::unknown_fields(const std::vector<std::string>& names) {
  if (names.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names) {
    const bool is_short = name.size() <= 40 && std::ranges::all_of(name, [](char c) {
                            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                          });
    const bool is_told = unknown_.contains(name) || unknown_.size() < limits::unknown_fields_max;
    unknown_[is_short && is_told ? name : "other"] += 1;
  }
}

void Counts::begin() {
  const std::lock_guard lock(mutex_);
  running_ += 1;
}

void Counts::end() {
  const std::lock_guard lock(mutex_);
  running_ -= 1;
}

void Counts::tell(MetricFamilies& families) const {
  const std::lock_guard lock(mutex_);
  families.counter("troupe_gateway_requests_total", "Requests answered, by route and status.");
  for (const auto& [key, count] : replies_) {
    families.add({{"route", key.first}, {"status", std::to_string(key.second)}}, count);
  }
  families.gauge("troupe_gateway_running_requests", "Generations under way.");
  families.add({}, static_cast<double>(running_));
  families.counter("troupe_gateway_cancelled_total", "Generations whose client went away.");
  families.add({}, cancelled_);
  const std::vector<std::tuple<const char*, const char*, uint64_t Usage::*>> tokens = {
      {"troupe_gateway_prompt_tokens_total", "Tokens of prompts.", &Usage::prompt_tokens},
      {"troupe_gateway_output_tokens_total", "Tokens of outputs.", &Usage::output_tokens},
      {"troupe_gateway_cached_tokens_total", "Tokens of prompts that were not computed.",
       &Usage::cached_tokens},
      {"troupe_gateway_accepted_draft_tokens_total", "Tokens of outputs that were guessed ahead.",
       &Usage::accepted}};
  for (const auto& [name, help, member] : tokens) {
    families.counter(name, help);
    for (const auto& [tenant, usage] : usage_) families.add({{"tenant", tenant}}, usage.*member);
  }
  families.counter("troupe_gateway_unknown_fields_total",
                   "Fields of requests that were ignored, by name.");
  for (const auto& [name, count] : unknown_) families.add({{"field", name}}, count);
  families.histogram("troupe_gateway_request_seconds",
                     "From the whole request to the end of its reply, by route.");
  for (const auto& [route, spread] : durations_) spread.tell({{"route", route}}, families);
  tell_stages(families);
  families.histogram("troupe_gateway_parse_seconds",
                     "The gateway's own work before the cast gets a request.");
  parse_.tell({}, families);
}

void Counts::tell_stages(MetricFamilies& families) const {
  const std::vector<std::tuple<const char*, const char*, Spread StageTimes::*>> spreads = {
      {"ttft", "From the whole request to its first token.", &StageTimes::ttft},
      {"itl", "Between two messages with tokens of one stream.", &StageTimes::itl},
      {"queue", "On the decode worker, until the first step.", &StageTimes::queue},
      {"prefill", "From the first step there to the first token.", &StageTimes::prefill},
      {"transfer", "From the first block announced to the last one read.", &StageTimes::transfer},
      {"decode", "From the first token to the last.", &StageTimes::decode}};
  for (const auto& [stage, help, member] : spreads) {
    families.histogram(concat("troupe_gateway_", stage, "_seconds"),
                       concat(help, " By tenant and route."));
    for (const auto& [key, stages] : stages_) {
      (stages.*member).tell({{"tenant", key.first}, {"route", key.second}}, families);
    }
  }
}

}  // namespace troupe::gateway
