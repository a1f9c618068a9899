// Names of blocks that were worked out before: a session that goes on sends all of its tokens
// again, and hashing them costs ten times as much as seeing that they are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "kv/block_name.hpp"
#include "kv/limits.hpp"

namespace troupe::kv {

/// Keeps tokens with their names, the least recently used out first. Tokens are compared one by
/// one, so names are always those that block_names() gives. Not thread-safe.
class NameMemo {
 public:
  /// `tokens_max` of all remembered prompts together: 4.25 bytes each.
  explicit NameMemo(size_t tokens_max = limits::memo_tokens_max) : tokens_max_(tokens_max) {}

  /// As block_names(). `tokens_per_block` is the same in every call.
  std::vector<BlockName> names(const BlockName& root, std::span<const int32_t> tokens,
                               uint32_t tokens_per_block);

  [[nodiscard]] size_t num_tokens() const { return num_tokens_; }
  [[nodiscard]] size_t num_prompts() const { return prompts_.size(); }

 private:
  struct Prompt {
    BlockName root;
    std::vector<int32_t> tokens;  ///< of whole blocks
    std::vector<BlockName> names;
  };

  void remember(std::span<const int32_t> tokens, const std::vector<BlockName>& names);

  size_t tokens_max_;
  size_t num_tokens_ = 0;
  std::list<Prompt> prompts_;  ///< the most recently used first
};

}  // namespace troupe::kv
