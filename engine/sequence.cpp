#include "engine/sequence.hpp"

#include <algorithm>
#include <span>

namespace troupe::engine {

const char* name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::prefilled:
      return "prefilled";
    case FinishReason::cancelled:
      return "cancelled";
    case FinishReason::failed:
      return "failed";
  }
  return "unknown";
}

const kv::BlockName& Sequence::page_name(uint32_t block, uint32_t group) {
  if (group == 0) return names[block];
  const size_t at = size_t{block} * (groups - 1) + group - 1;
  if (at >= window_names.size()) window_names.resize(names.size() * (groups - 1));
  kv::BlockName& name = window_names[at];
  if (name == kv::BlockName()) name = kv::page_name(names[block], group);
  return name;
}

void Sequence::extend_names(uint32_t tokens_per_block) {
  const std::span<const int32_t> tokens(history.tokens);
  const size_t nameable = tokens.size() / tokens_per_block;
  names.reserve(nameable);
  while (names.size() < nameable) {
    const kv::BlockName& parent = names.empty() ? root : names.back();
    names.push_back(
        kv::chain(parent, tokens.subspan(names.size() * tokens_per_block, tokens_per_block)));
  }
}

std::optional<FinishReason> Sequence::finish_reason(uint32_t context_max) const {
  if (history.num_output_tokens() > 0 && !sampling.ignore_eos) {
    const std::vector<int32_t>& stops = sampling.stop_ids;
    if (std::find(stops.begin(), stops.end(), history.tokens.back()) != stops.end()) {
      return FinishReason::stop;
    }
  }
  if (history.num_output_tokens() >= sampling.max_tokens) return FinishReason::length;
  if (num_tokens() >= context_max) return FinishReason::length;
  return std::nullopt;
}

}  // namespace troupe::engine
