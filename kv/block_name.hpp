// A block's name: 128 bits of SHA-256 over (parent name, token ids, salt). The chain's root is the
// KV fingerprint (numerics.md section 8), so equal names mean equal bytes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/sha256.hpp"

namespace troupe::kv {

struct BlockName {
  std::array<uint8_t, 16> bytes{};
  auto operator<=>(const BlockName&) const = default;
};

struct BlockNameHash {
  // noexcept: libstdc++ would otherwise keep a copy of the hash in every node.
  size_t operator()(const BlockName& name) const noexcept {
    size_t value;
    std::memcpy(&value, name.bytes.data(), sizeof value);
    return value;
  }
};

std::string hex(const BlockName& name);

/// Everything that decides whether two workers' KV bytes are interchangeable.
struct FingerprintParts {
  Digest weights_digest{};
  std::string model_config;    ///< canonical resolved configuration
  std::string numerics_id;     ///< e.g. "cpu/2/fast"
  std::string kv_layout;       ///< KvLayout::describe()
  std::string adapter_digest;  ///< empty: none
};
Digest fingerprint(const FingerprintParts& parts);

/// The chain's root for one fingerprint and tenant salt.
BlockName root_name(const Digest& fingerprint, std::string_view salt);

/// Name of the block that holds `tokens` after `parent`.
BlockName chain(const BlockName& parent, std::span<const int32_t> tokens);

/// Names of all full blocks of `tokens` (floor(size / tokens_per_block) of them).
std::vector<BlockName> block_names(const BlockName& root, std::span<const int32_t> tokens,
                                   uint32_t tokens_per_block);

/// Name of the page of one layer group of a block; group 0's is the block's own.
BlockName page_name(const BlockName& block, uint32_t group);

}  // namespace troupe::kv
