#include "kv/name_memo.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::kv {
namespace {

/// Whole blocks at the beginning that are the same in both.
size_t same_blocks(std::span<const int32_t> a, std::span<const int32_t> b,
                   uint32_t tokens_per_block) {
  const size_t blocks = std::min(a.size(), b.size()) / tokens_per_block;
  constexpr size_t stride = 64;  // blocks compared at once: memcmp is quick over long pieces
  const auto same = [&](size_t first, size_t count) {
    const size_t at = first * tokens_per_block;
    return std::memcmp(a.data() + at, b.data() + at, count * tokens_per_block * sizeof(int32_t)) ==
           0;
  };
  size_t at = 0;
  while (at + stride <= blocks && same(at, stride)) at += stride;
  while (at < blocks && same(at, 1)) ++at;
  return at;
}

}  // namespace

std::vector<BlockName> NameMemo::names(const BlockName& root, std::span<const int32_t> tokens,
                                       uint32_t tokens_per_block) {
  if (tokens_per_block == 0) return {};
  const size_t blocks = tokens.size() / tokens_per_block;
  tokens = tokens.first(blocks * tokens_per_block);
  if (tokens.size() < limits::memo_prompt_tokens_min || tokens.size() > tokens_max_) {
    return block_names(root, tokens, tokens_per_block);
  }
  auto best = prompts_.end();
  size_t shared = 0;
  for (auto at = prompts_.begin(); at != prompts_.end() && shared < blocks; ++at) {
    if (at->root != root || at->names.size() <= shared) continue;
    const size_t same = same_blocks(at->tokens, tokens, tokens_per_block);
    if (same > shared) {
      shared = same;
      best = at;
    }
  }
  std::vector<BlockName> names;
  names.reserve(blocks);
  if (shared > 0)
    names.assign(best->names.begin(), best->names.begin() + static_cast<std::ptrdiff_t>(shared));
  while (names.size() < blocks) {
    names.push_back(chain(names.empty() ? root : names.back(),
                          tokens.subspan(names.size() * tokens_per_block, tokens_per_block)));
  }
  if (best != prompts_.end()) prompts_.splice(prompts_.begin(), prompts_, best);
  if (shared < blocks) {
    const bool goes_on = shared > 0 && shared == prompts_.front().names.size();
    if (!goes_on) prompts_.push_front({root, {}, {}});
    remember(tokens, names);
  }
  return names;
}

/// Brings the first prompt up to `tokens`, with which it begins.
void NameMemo::remember(std::span<const int32_t> tokens, const std::vector<BlockName>& names) {
  Prompt& prompt = prompts_.front();
  const auto known = static_cast<std::ptrdiff_t>(prompt.tokens.size());
  num_tokens_ += tokens.size() - prompt.tokens.size();
  prompt.tokens.insert(prompt.tokens.end(), tokens.begin() + known, tokens.end());
  prompt.names.insert(prompt.names.end(),
                      names.begin() + static_cast<std::ptrdiff_t>(prompt.names.size()),
                      names.end());
  while (num_tokens_ > tokens_max_ || prompts_.size() > limits::memo_prompts_max) {
    num_tokens_ -= prompts_.back().tokens.size();
    prompts_.pop_back();
  }
}

}  // namespace troupe::kv
