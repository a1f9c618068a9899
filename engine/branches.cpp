#include "engine/branches.hpp"

#include <algorithm>

namespace troupe::engine {

Branches::Branches(uint32_t blocks_max, uint32_t tokens_per_block)
    : blocks_max_(std::clamp(blocks_max, 1u, limits::branch_blocks_max)),
      tokens_per_block_(tokens_per_block) {}

void Branches::remember(const kv::BlockName& parent, const kv::BlockName& name,
                        std::span<const int32_t> tokens) {
  if (tokens.size() != tokens_per_block_) return;
  if (const auto found = followers_.find(parent); found != followers_.end()) {
    std::vector<uint32_t>& siblings = found->second;
    const auto known = std::find_if(siblings.begin(), siblings.end(),
                                    [&](uint32_t at) { return blocks_[at].name == name; });
    if (known != siblings.end()) return;
    // Its place in the ring stays, known to nobody, until its turn comes.
    if (siblings.size() >= limits::branch_siblings_max) siblings.erase(siblings.begin());
  }
  const uint32_t at = next_;
  next_ = (next_ + 1) % blocks_max_;
  if (at == blocks_.size()) {
    blocks_.push_back({parent, name});
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  } else {
    forget(at);
    blocks_[at] = {parent, name};
    std::copy(tokens.begin(), tokens.end(), tokens_.begin() + size_t{at} * tokens_per_block_);
  }
  followers_[parent].push_back(at);
}

void Branches::forget(uint32_t at) {
  const auto found = followers_.find(blocks_[at].parent);
  if (found == followers_.end()) return;
  std::erase(found->second, at);
  if (found->second.empty()) followers_.erase(found);
}

uint32_t Branches::shared_with(uint32_t at, std::span<const int32_t> tokens) const {
  const int32_t* mine = &tokens_[size_t{at} * tokens_per_block_];
  const size_t size = std::min<size_t>(tokens.size(), tokens_per_block_);
  const auto differs =
      std::mismatch(tokens.begin(), tokens.begin() + static_cast<long>(size), mine);
  return static_cast<uint32_t>(differs.first - tokens.begin());
}

}  // namespace troupe::engine
