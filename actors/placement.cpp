#include "actors/placement.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"

namespace troupe::actors {
namespace {

/// Blocks that the request will hold on its decode worker at its longest.
uint64_t blocks_needed(const PlaceRequest& request) {
  const uint64_t prompt = request.names.size();
  const uint64_t tail = request.num_tokens - prompt * request.tokens_per_block;
  const uint64_t own =
      (tail + request.max_tokens + request.tokens_per_block - 1) / request.tokens_per_block;
  return prompt + own * request.choices;
}

Status check(const PlaceRequest& request) {
  if (request.num_tokens == 0 || request.choices == 0 || request.tokens_per_block == 0) {
    return error(Code::invalid_argument,
                 "a request to place has no tokens, no choices or blocks of no tokens",
                 "all three must be at least 1");
  }
  if (request.names.size() > request.num_tokens / request.tokens_per_block) {
    return error(Code::invalid_argument,
                 concat("a request of ", request.num_tokens, " tokens names ", request.names.size(),
                        " full blocks of ", request.tokens_per_block),
                 "name the full blocks only");
  }
  return {};
}

bool same(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), 1.0);
}

}  // namespace

const char* name(WorkerRole role) {
  switch (role) {
    case WorkerRole::prefill:
      return "prefill";
    case WorkerRole::decode:
      return "decode";
    case WorkerRole::both:
      return "both";
  }
  return "unknown";
}

std::string Placement::refusal(const Worker& worker, const PlaceRequest& request,
                               uint64_t needed) const {
  const WorkerInfo& info = worker.info;
  if (!worker.unfit.empty()) return worker.unfit;
  if (std::ranges::count(request.exclude, info.incarnation) > 0) {
    return "the request excludes this incarnation";
  }
  if (!request.kv_fingerprint.empty() && request.kv_fingerprint != info.kv_fingerprint) {
    return "its KV fingerprint is another one: different weights, numerics or layout";
  }
  if (needed > info.sequence_blocks_max) {
    return concat("needs ", needed, " blocks, the worker has room for ", info.sequence_blocks_max);
  }
  return {};
}

Placement::Choice Placement::consider_prefill(const Worker& worker, const PlaceRequest& request,
                                              const Matches& matches,
                                              const Holdings& holdings) const {
  Choice choice;
  choice.worker = &worker;
  Candidate& candidate = choice.candidate;
  candidate.worker = worker.info.id;
  candidate.is_prefill = true;
  if (const auto match = matches.find(worker.info.id); match != matches.end()) {
    candidate.matched_blocks = match->second.blocks;
    candidate.matched_by_tier = match->second.by_tier;
  }
  candidate.refused = refusal(worker, request, request.names.size());
  const Fetch fetch = best_fetch(worker, request, candidate.matched_blocks, holdings);
  candidate.fetch_source = fetch.source;
  candidate.fetch_end = fetch.end;
  candidate.fetch_us = fetch.us;
  const uint32_t have = std::max(candidate.matched_blocks, fetch.end);
  const auto end = static_cast<uint32_t>(request.names.size() * request.tokens_per_block);
  choice.range = {have * request.tokens_per_block, end};
  candidate.queue_us = worker.queued_us;
  candidate.prefill_us = work_us(worker.info.profile, choice.range);
  candidate.price_us = options_.capacity_price * candidate.prefill_us;
  return choice;
}

Placement::Choice Placement::consider_decode(const Worker& worker, const PlaceRequest& request,
                                             const Matches& matches, const Holdings& holdings,
                                             const Choice* prefill) const {
  Choice choice;
  choice.worker = &worker;
  Candidate& candidate = choice.candidate;
  candidate.worker = worker.info.id;
  if (const auto match = matches.find(worker.info.id); match != matches.end()) {
    candidate.matched_blocks = match->second.blocks;
    candidate.matched_by_tier = match->second.by_tier;
  }
  candidate.refused = refusal(worker, request, blocks_needed(request));
  const Fetch fetch = best_fetch(worker, request, candidate.matched_blocks, holdings);
  const bool may_split = worker.info.role == WorkerRole::decode && prefill != nullptr;
  const size_t lacks = request.names.size() - candidate.matched_blocks;
  const size_t computes = request.names.size() - std::max(candidate.matched_blocks, fetch.end);
  const size_t split_min = std::max(options_.prefill_blocks_min, 1u);
  if (!may_split || (request.force_split ? lacks < split_min : computes < split_min)) {
    if (request.force_split && candidate.refused.empty()) {
      candidate.refused = "a split was asked for, but it would compute the prompt itself";
    }
    return alone(std::move(choice), request, fetch);
  }
  Choice by_two = split(choice, request, *prefill);
  if (fetch.source.empty() || request.force_split) return by_two;
  Choice by_one = alone(std::move(choice), request, fetch);
  // A prefill worker holds up nobody; here one more sequence and those that run wait for the
  // prompt.
  by_one.candidate.price_us += by_one.candidate.prefill_us * (1.0 + worker.running);
  return by_one.candidate.score_us() < by_two.candidate.score_us() ? by_one : by_two;
}

Placement::Choice Placement::alone(Choice choice, const PlaceRequest& request,
                                   const Fetch& fetch) const {
  Candidate& candidate = choice.candidate;
  const Worker& worker = *choice.worker;
  candidate.fetch_source = fetch.source;
  candidate.fetch_end = fetch.end;
  candidate.fetch_us = fetch.us;
  const uint32_t have = std::max(candidate.matched_blocks, fetch.end);
  // The last token is always computed: the first output comes from its logits.
  choice.range = {std::min(have * request.tokens_per_block, request.num_tokens - 1),
                  request.num_tokens};
  candidate.queue_us = worker.queued_us;
  candidate.prefill_us = work_us(worker.info.profile, choice.range);
  candidate.price_us = options_.capacity_price * candidate.prefill_us +
                       occupation_us(worker, request, candidate.matched_blocks);
  return choice;
}

Placement::Choice Placement::split(Choice choice, const PlaceRequest& request,
                                   const Choice& prefill) const {
  Candidate& candidate = choice.candidate;
  const Worker& worker = *choice.worker;
  choice.split = true;
  const auto handed = static_cast<uint32_t>(request.names.size() * request.tokens_per_block);
  choice.range = {std::min(handed, request.num_tokens - 1), request.num_tokens};
  const uint64_t missing = request.names.size() - candidate.matched_blocks;
  candidate.fetch_us =
      prefill.candidate.fetch_us + fetch_us(prefill.worker->info.profile, worker.info.profile,
                                            missing * worker.info.block_bytes);
  const double own_us = work_us(worker.info.profile, choice.range);
  candidate.queue_us = worker.queued_us + prefill.candidate.queue_us;
  candidate.prefill_us = own_us + prefill.candidate.prefill_us;
  candidate.price_us = options_.capacity_price * own_us + prefill.candidate.price_us +
                       occupation_us(worker, request, candidate.matched_blocks);
  return choice;
}

double Placement::occupation_us(const Worker& worker, const PlaceRequest& request,
                                uint32_t matched) const {
  const WorkerInfo& info = worker.info;
  const uint64_t free =
      info.blocks_free - std::min<uint64_t>(info.blocks_free, worker.blocks_booked);
  const uint64_t taken = blocks_needed(request) - matched;
  return eviction_us(info.profile, taken - std::min(taken, free), request.tokens_per_block) +
         crowding_us(info.profile, worker.running, request.max_tokens) * request.choices;
}

std::optional<size_t> Placement::best_of(const std::vector<Choice>& choices) const {
  std::vector<size_t> best;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (!choices[i].candidate.refused.empty()) continue;
    const double score = choices[i].candidate.score_us();
    const double lowest = best.empty() ? score : choices[best[0]].candidate.score_us();
    if (score < lowest && !same(score, lowest)) best.clear();
    if (best.empty() || same(score, lowest)) best.push_back(i);
  }
  if (best.empty()) return std::nullopt;
  return best[turn_ % best.size()];
}

Error Placement::nobody(const std::vector<Choice>& choices, const char* role) const {
  if (choices.empty()) {
    return error(Code::unavailable, concat("no ", role, " worker has joined this router"),
                 concat("start a process with the role ", role, ", or wait until it is ready"));
  }
  std::string reasons;
  bool too_long = true;
  for (const Choice& choice : choices) {
    const Candidate& candidate = choice.candidate;
    reasons += concat(reasons.empty() ? "" : "; ", candidate.worker, ": ", candidate.refused);
    too_long = too_long && candidate.refused.starts_with("needs ");
  }
  return error(too_long ? Code::exhausted : Code::unavailable,
               concat("no ", role, " worker can take the request: ", reasons),
               too_long ? "ask for fewer tokens or give the workers more KV memory"
                        : concat("another ", role, " worker is needed"));
}

Result<Decision> Placement::place(const PlaceRequest& request, TimeUs now) {
  TROUPE_TRY(check(request));
  expire(now);
  ++turn_;
  Matches matches;
  for (kv::WorkerMatch& match : index_.match(request.names)) {
    matches.emplace(match.worker, std::move(match));
  }
  const Holdings holdings = holdings_of(request, matches, now);
  std::vector<Choice> prefills;
  for (const auto& [id, worker] : workers_) {
    if (worker.info.role != WorkerRole::prefill) continue;
    prefills.push_back(consider_prefill(worker, request, matches, holdings));
  }
  const std::optional<size_t> best_prefill = best_of(prefills);
  if (request.force_split && !best_prefill) return nobody(prefills, "prefill");
  Choice* prefill = best_prefill ? &prefills[*best_prefill] : nullptr;

  std::vector<Choice> decodes;
  for (const auto& [id, worker] : workers_) {
    if (worker.info.role == WorkerRole::prefill) continue;
    decodes.push_back(consider_decode(worker, request, matches, holdings, prefill));
  }
  const std::optional<size_t> best_decode = best_of(decodes);
  if (!best_decode) return nobody(decodes, "decode");
  Choice& decode = decodes[*best_decode];
  decode.candidate.chosen = true;
  if (!decode.split) prefill = nullptr;

  Decision decision;
  decision.decode_worker = decode.worker->info.id;
  decision.decode_incarnation = decode.worker->info.incarnation;
  if (prefill != nullptr) {
    prefill->candidate.chosen = true;
    decision.prefill_worker = prefill->worker->info.id;
    decision.prefill_incarnation = prefill->worker->info.incarnation;
  }
  const Candidate& computing = prefill != nullptr ? prefill->candidate : decode.candidate;
  if (!computing.fetch_source.empty()) {
    decision.fetch_source = computing.fetch_source;
    decision.fetch_blocks = computing.fetch_end;
  }
  decision.predicted_us = decode.candidate.predicted_us();
  decision.prompt_blocks = static_cast<uint32_t>(request.names.size());
  decision.booking = book(request, decode, prefill, now);
  for (const Choice& choice : prefills) decision.candidates.push_back(choice.candidate);
  for (const Choice& choice : decodes) decision.candidates.push_back(choice.candidate);
  return decision;
}

}  // namespace troupe::actors
