#include "kv/block_name.hpp"

#include <algorithm>
#include <bit>

namespace troupe::kv {
namespace {

BlockName truncate(const Digest& digest) {
  BlockName name;
  std::copy_n(digest.begin(), name.bytes.size(), name.bytes.begin());
  return name;
}

/// With its length in front, so that no two lists of parts give the same bytes.
void update_part(Sha256& hash, std::string_view part) {
  hash.update_u64(part.size());
  hash.update(part);
}

}  // namespace

std::string hex(const BlockName& name) {
  return troupe::hex(name.bytes);
}

Digest fingerprint(const FingerprintParts& parts) {
  Sha256 hash;
  update_part(hash, "troupe kv fingerprint 1");
  hash.update(std::as_bytes(std::span(parts.weights_digest)));
  update_part(hash, parts.model_config);
  update_part(hash, parts.numerics_id);
  update_part(hash, parts.kv_layout);
  update_part(hash, parts.adapter_digest);
  return hash.finish();
}

BlockName root_name(const Digest& fingerprint, std::string_view salt) {
  Sha256 hash;
  update_part(hash, "troupe kv root 1");
  hash.update(std::as_bytes(std::span(fingerprint)));
  update_part(hash, salt);
  return truncate(hash.finish());
}

BlockName chain(const BlockName& parent, std::span<const int32_t> tokens) {
  // Token ids are hashed as they lie in memory: 100K of them take a third of a millisecond.
  static_assert(std::endian::native == std::endian::little);
  Sha256 hash;
  hash.update(std::as_bytes(std::span(parent.bytes)));
  hash.update(std::as_bytes(tokens));
  return truncate(hash.finish());
}

BlockName page_name(const BlockName& block, uint32_t group) {
  if (group == 0) return block;
  Sha256 hash;
  update_part(hash, "troupe kv page 1");
  hash.update(std::as_bytes(std::span(block.bytes)));
  hash.update_u64(group);
  return truncate(hash.finish());
}

std::vector<BlockName> block_names(const BlockName& root, std::span<const int32_t> tokens,
                                   uint32_t tokens_per_block) {
  std::vector<BlockName> names;
  if (tokens_per_block == 0) return names;
  names.reserve(tokens.size() / tokens_per_block);
  BlockName parent = root;
  for (; tokens.size() >= tokens_per_block; tokens = tokens.subspan(tokens_per_block)) {
    parent = chain(parent, tokens.first(tokens_per_block));
    names.push_back(parent);
  }
  return names;
}

}  // namespace troupe::kv
