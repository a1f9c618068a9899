// The element order of one block of one layer group on the CPU backend (DESIGN: KvLayout).
// K is [layer][kv_head][dim][token], V is [layer][kv_head][token][dim], all K before all V. Latent
// attention stores K alone, its values being part of it; the keys of a sparse-attention indexer
// come last, [layer][dim][token]. Layers with a window keep all tokens of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe::kv {

enum class KvType : uint8_t { f32, f16 };

inline size_t element_bytes(KvType type) {
  return type == KvType::f32 ? 4 : 2;
}
inline const char* name(KvType type) {
  return type == KvType::f32 ? "f32" : "f16";
}

struct KvLayout {
  uint32_t num_layers = 0;
  uint32_t num_kv_heads = 0;
  uint32_t head_dim = 0;
  uint32_t tokens_per_block = 64;
  KvType type = KvType::f16;
  bool value_in_key = false;  ///< latent attention: there is no V
  uint32_t index_layers = 0;  ///< layers with indexer keys
  uint32_t index_dim = 0;     ///< elements of an indexer's key

  /// Elements of K (or of V) of one layer and head in a block.
  [[nodiscard]] size_t head_elements() const { return size_t{head_dim} * tokens_per_block; }
  /// Index of the first K element of (layer, head) from the block's start, in elements.
  [[nodiscard]] size_t k_index(uint32_t layer, uint32_t head) const {
    return (size_t{layer} * num_kv_heads + head) * head_elements();
  }
  [[nodiscard]] size_t v_index(uint32_t layer, uint32_t head) const {
    return k_index(layer, head) + size_t{num_layers} * num_kv_heads * head_elements();
  }
  /// Index of the first element of the indexer keys of the `nth` layer that has them.
  [[nodiscard]] size_t index_index(uint32_t nth) const {
    return key_value_elements() + size_t{nth} * index_dim * tokens_per_block;
  }
  [[nodiscard]] size_t block_bytes() const {
    return index_index(index_layers) * element_bytes(type);
  }
  [[nodiscard]] size_t key_value_elements() const {
    return (value_in_key ? 1 : 2) * size_t{num_layers} * num_kv_heads * head_elements();
  }
  /// Canonical text, part of the KV fingerprint.
  [[nodiscard]] std::string describe() const;

  bool operator==(const KvLayout&) const = default;
};

/// Index of a page in a pool.
using PageId = uint32_t;
inline constexpr PageId no_page = UINT32_MAX;

}  // namespace troupe::kv
