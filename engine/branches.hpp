// Where prompts part inside a block: the tokens of blocks that were indexed not long ago, by the
// block before them. A block's name tells whole blocks apart; a prompt that shares only the first
// tokens of one with an earlier prompt can still take over their keys and values, which depend on
// nothing behind them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "kv/block_name.hpp"

namespace troupe::engine {

namespace limits {
/// Blocks whose tokens are remembered, the newest; 256 bytes each and about as much to find them.
inline constexpr uint32_t branch_blocks_max = 16384;
/// Remembered blocks that follow the same one; the oldest goes.
inline constexpr uint32_t branch_siblings_max = 16;
/// Tokens that two blocks must share at least for a copy to be worth it.
inline constexpr uint32_t branch_tokens_min = 4;
}  // namespace limits

class Branches {
 public:
  /// Remembers at most `blocks_max` blocks of `tokens_per_block` tokens.
  Branches(uint32_t blocks_max, uint32_t tokens_per_block);

  /// Block `name` follows `parent` and holds `tokens`: [tokens_per_block].
  void remember(const kv::BlockName& parent, const kv::BlockName& name,
                std::span<const int32_t> tokens);

  struct Branch {
    kv::BlockName name;
    uint32_t shared = 0;  ///< leading tokens in common, at least 1
  };
  /// Of the blocks that follow `parent` and that `has` confirms, the one with most leading tokens
  /// in common with `tokens`.
  template <class Has>
  [[nodiscard]] std::optional<Branch> longest(const kv::BlockName& parent,
                                              std::span<const int32_t> tokens, Has has) const {
    std::optional<Branch> best;
    const auto found = followers_.find(parent);
    if (found == followers_.end()) return best;
    for (const uint32_t at : found->second) {
      const uint32_t shared = shared_with(at, tokens);
      if (shared > (best ? best->shared : 0) && has(blocks_[at].name)) {
        best = Branch{blocks_[at].name, shared};
      }
    }
    return best;
  }

  [[nodiscard]] size_t size() const { return blocks_.size(); }

 private:
  struct Block {
    kv::BlockName parent, name;
  };

  [[nodiscard]] uint32_t shared_with(uint32_t at, std::span<const int32_t> tokens) const;
  void forget(uint32_t at);

  uint32_t blocks_max_;
  uint32_t tokens_per_block_;
  std::vector<Block> blocks_;    ///< a ring once it is full
  std::vector<int32_t> tokens_;  ///< [blocks][tokens_per_block]
  uint32_t next_ = 0;            ///< its oldest
  std::unordered_map<kv::BlockName, std::vector<uint32_t>, kv::BlockNameHash> followers_;
};

}  // namespace troupe::engine
