#include "gateway/counts.hpp"

#include <algorithm>
#include <sstream>

#include "gateway/limits.hpp"

namespace troupe::gateway {

void Spread::add(double seconds) {
  const auto bound = std::ranges::lower_bound(bounds_s, seconds);
  counts_[static_cast<size_t>(bound - bounds_s.begin())] += 1;
  count_ += 1;
  sum_ += seconds;
}

std::string Spread::lines(const std::string& name, const std::string& labels) const {
  std::vector<Bucket> buckets;
  uint64_t below = 0;
  for (size_t i = 0; i < bounds_s.size(); ++i)
    buckets.push_back({bounds_s[i], below += counts_[i]});
  return histogram_lines(name, labels, buckets, count_, sum_);
}

std::string metric_value(double value) {
  std::ostringstream out;
  out.precision(15);
  out << value;
  return std::move(out).str();
}

std::string histogram_lines(const std::string& name, const std::string& labels,
                            const std::vector<Bucket>& buckets, uint64_t count, double sum_s) {
  const std::string before = labels.empty() ? "" : labels + ",";
  const std::string braces = labels.empty() ? "" : "{" + labels + "}";
  std::string out;
  for (const Bucket& bucket : buckets) {
    out += concat(name, "_bucket{", before, "le=\"", metric_value(bucket.bound_s), "\"} ",
                  bucket.below, "\n");
  }
  out += concat(name, "_bucket{", before, "le=\"+Inf\"} ", count, "\n");
  out += concat(name, "_sum", braces, " ", metric_value(sum_s), "\n");
  return out + concat(name, "_count", braces, " ", count, "\n");
}

std::string escaped_label(const std::string& value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string metric_head(const std::string& name, const char* type, const std::string& help) {
  return concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
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

std::string Counts::page() const {
  const std::lock_guard lock(mutex_);
  std::string out = metric_head("troupe_gateway_requests_total", "counter",
                                "Requests answered, by route and status.");
  for (const auto& [key, count] : replies_) {
    out += concat("troupe_gateway_requests_total{route=\"", key.first, "\",status=\"", key.second,
                  "\"} ", count, "\n");
  }
  out += metric_head("troupe_gateway_running_requests", "gauge", "Generations under way.");
  out += concat("troupe_gateway_running_requests ", running_, "\n");
  out += metric_head("troupe_gateway_cancelled_total", "counter",
                     "Generations whose client went away.");
  out += concat("troupe_gateway_cancelled_total ", cancelled_, "\n");
  const std::vector<std::tuple<const char*, const char*, uint64_t Usage::*>> tokens = {
      {"troupe_gateway_prompt_tokens_total", "Tokens of prompts.", &Usage::prompt_tokens},
      {"troupe_gateway_output_tokens_total", "Tokens of outputs.", &Usage::output_tokens},
      {"troupe_gateway_cached_tokens_total", "Tokens of prompts that were not computed.",
       &Usage::cached_tokens},
      {"troupe_gateway_accepted_draft_tokens_total", "Tokens of outputs that were guessed ahead.",
       &Usage::accepted}};
  for (const auto& [name, help, member] : tokens) {
    out += metric_head(name, "counter", help);
    for (const auto& [tenant, usage] : usage_) {
      out += concat(name, "{tenant=\"", escaped_label(tenant), "\"} ", usage.*member, "\n");
    }
  }
  out += metric_head("troupe_gateway_unknown_fields_total", "counter",
                     "Fields of requests that were ignored, by name.");
  for (const auto& [name, count] : unknown_) {
    out += concat("troupe_gateway_unknown_fields_total{field=\"", name, "\"} ", count, "\n");
  }
  out += metric_head("troupe_gateway_request_seconds", "histogram",
                     "From the whole request to the end of its reply, by route.");
  for (const auto& [route, spread] : durations_) {
    out += spread.lines("troupe_gateway_request_seconds", concat("route=\"", route, "\""));
  }
  const std::vector<std::tuple<const char*, const char*, Spread StageTimes::*>> spreads = {
      {"ttft", "From the whole request to its first token.", &StageTimes::ttft},
      {"itl", "Between two messages with tokens of one stream.", &StageTimes::itl},
      {"queue", "On the decode worker, until the first step.", &StageTimes::queue},
      {"prefill", "From the first step there to the first token.", &StageTimes::prefill},
      {"transfer", "From the first block announced to the last one read.", &StageTimes::transfer},
      {"decode", "From the first token to the last.", &StageTimes::decode}};
  for (const auto& [stage, help, member] : spreads) {
    const std::string name = concat("troupe_gateway_", stage, "_seconds");
    out += metric_head(name, "histogram", concat(help, " By tenant and route."));
    for (const auto& [key, stages] : stages_) {
      out += (stages.*member)
                 .lines(name, concat("tenant=\"", escaped_label(key.first), "\",route=\"",
                                     key.second, "\""));
    }
  }
  out += metric_head("troupe_gateway_parse_seconds", "histogram",
                     "The gateway's own work before the cast gets a request.");
  out += parse_.lines("troupe_gateway_parse_seconds", "");
  return out;
}

}  // namespace troupe::gateway
