// The element order of one page on the CPU backend: a block of one layer group (DESIGN: KvLayout).
// Layers with a window form groups of their own (layer_groups.hpp), so that their pages can go when
// the window has passed. All pages have one size.
// K is [layer][kv_head][dim][token], V is [layer][kv_head][token][dim], all K before all V. Latent
// attention stores K alone, its values being part of it; the keys of a sparse-attention indexer
// come last, [layer][dim][token].
//
// Q8_0 has an F16 scale for every 32 dimensions of one token (the last of them may be fewer). The
// scales lie behind the codes of their layer and head, as F16 for K [dim / 32][token] and for V
// [token][dim / 32], so that a vector of positions, or of dimensions, finds its own beside each
// other. K and V may be stored as different types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::kv {

enum class KvType : uint8_t { f32, f16, bf16, q8_0 };
inline constexpr KvType all_kv_types[] = {KvType::f16, KvType::bf16, KvType::q8_0, KvType::f32};
const char* name(KvType type);

/// What K and V are stored as.
struct KvTypes {
  KvType keys = KvType::f16;
  KvType values = KvType::f16;

  bool operator==(const KvTypes&) const = default;
};

inline constexpr uint32_t scale_dims = 32;  ///< dimensions that share a scale of Q8_0

/// Bytes of `tokens` vectors of `dim` elements: K or V of one layer and head in a block.
size_t stored_bytes(KvType type, uint32_t dim, uint32_t tokens);

/// Where a layer of the model lies.
struct LayerPlace {
  uint32_t group = 0;
  uint32_t slot = 0;  ///< among the layers of a page

  bool operator==(const LayerPlace&) const = default;
};

struct KvLayout {
  uint32_t num_layers = 0;  ///< of a page
  uint32_t num_kv_heads = 0;
  uint32_t head_dim = 0;
  uint32_t tokens_per_block = 64;
  KvType type = KvType::f16;  ///< of K, of V unless value_type is there, of indexer keys
  bool value_in_key = false;  ///< latent attention: there is no V
  uint32_t index_layers = 0;  ///< layers with indexer keys
  uint32_t index_dim = 0;     ///< elements of an indexer's key
  std::optional<KvType> value_type = std::nullopt;  ///< of V, where it is not `type`
  /// One per layer of the model; none: a page holds all layers.
  std::vector<LayerPlace> places{};
  /// One per group: a query at p needs the positions from p - window + 1 on, with 0 all. The first
  /// is 0. None: there is one group.
  std::vector<uint32_t> windows{};

  [[nodiscard]] uint32_t num_groups() const {
    return windows.empty() ? 1 : static_cast<uint32_t>(windows.size());
  }
  [[nodiscard]] LayerPlace place(uint32_t layer) const {
    return places.empty() ? LayerPlace{0, layer} : places[layer];
  }
  /// The first block whose page of the group a query at `position` needs.
  [[nodiscard]] uint32_t first_block(uint32_t group, uint32_t position) const {
    const uint32_t window = windows.empty() ? 0 : windows[group];
    return window == 0 || position < window ? 0 : (position + 1 - window) / tokens_per_block;
  }

  [[nodiscard]] KvTypes types() const { return {type, value_type.value_or(type)}; }
  /// Bytes from the page's start to K, or V, of (layer, head); layers are slots here and below.
  [[nodiscard]] size_t k_offset(uint32_t layer, uint32_t head) const {
    return nth_head(layer, head) * stored_bytes(type, head_dim, tokens_per_block);
  }
  [[nodiscard]] size_t v_offset(uint32_t layer, uint32_t head) const {
    return k_offset(num_layers, 0) +
           nth_head(layer, head) * stored_bytes(types().values, head_dim, tokens_per_block);
  }
  /// Bytes from the block's start to the indexer keys of the `nth` layer that has them.
  [[nodiscard]] size_t index_offset(uint32_t nth) const {
    return (value_in_key ? k_offset(num_layers, 0) : v_offset(num_layers, 0)) +
           nth * stored_bytes(type, index_dim, tokens_per_block);
  }
  /// Bytes of a page.
  [[nodiscard]] size_t block_bytes() const { return index_offset(index_layers); }
  /// Canonical text, part of the KV fingerprint.
  [[nodiscard]] std::string describe() const;

  bool operator==(const KvLayout&) const = default;

 private:
  [[nodiscard]] size_t nth_head(uint32_t layer, uint32_t head) const {
    return size_t{layer} * num_kv_heads + head;
  }
};

/// Index of a page in a pool.
using PageId = uint32_t;
inline constexpr PageId no_page = UINT32_MAX;

}  // namespace troupe::kv
