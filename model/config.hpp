// The resolved configuration of a decoder model: what the forward pass interprets. A family
// (model/family.hpp) says how the files of a model spell it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::model {

/// Which elements of a head are rotated together.
enum class RopePairing : uint8_t {
  norm,  ///< neighbours (2i, 2i+1); GGUF's Llama files
  neox   ///< halves (i, i + dim/2); Hugging Face order
};

/// How frequencies were stretched beyond the context that the model was first trained for.
enum class RopeScaling : uint8_t { none, linear, dynamic, yarn, llama3, longrope };

struct RopeConfig {
  RopePairing pairing = RopePairing::norm;
  uint32_t dim = 0;  ///< rotated elements of a head (even)
  double base = 10000.0;
  std::vector<double> inverse_frequency;  ///< [dim / 2], every scaling already applied
  double attention_factor = 1.0;          ///< multiplies cosines and sines
  RopeScaling scaling = RopeScaling::none;
  double factor = 1.0;                              ///< of the scaling
  uint32_t original_context = 0;                    ///< tokens; of dynamic and longrope
  std::vector<double> short_factors, long_factors;  ///< [dim / 2], of longrope
};

enum class Activation : uint8_t {
  silu,            ///< silu(gate) * up
  gelu_tanh,       ///< gelu(gate) * up, by the approximation with tanh
  clamped_swiglu,  ///< clamp(gate) * sigmoid(alpha * clamp(gate)) * (clamp(up) + 1)
};

enum class QkNorm : uint8_t {
  none,
  per_head,  ///< RMSNorm of each head of Q and K before RoPE
  whole      ///< RMSNorm over all heads together
};

/// Sparse attention: which positions of the past a query of the layer sees.
enum class Selection : uint8_t {
  none,   ///< all
  own,    ///< those that this layer's indexer selects
  shared  ///< those that the last layer with an indexer selected
};

struct LayerConfig {
  uint32_t window = 0;      ///< a query at p sees keys p - window + 1 .. p; 0: all
  bool rotates = true;      ///< false: no positions (NoPE)
  bool local_rope = false;  ///< rotates by ModelConfig::local_rope
  bool experts = false;     ///< the feed-forward part is a mixture of experts
  Selection selection = Selection::none;
};

/// Which scores choose the experts of a token, and which weigh them.
enum class Routing : uint8_t {
  softmax,        ///< softmax over all, then the best
  sigmoid,        ///< sigmoid; a bias, if there is one, is for the choice only
  chosen_softmax  ///< the best logits, then softmax over the chosen
};

struct ExpertsConfig {
  uint32_t count = 0;  ///< 0: the model has none
  uint32_t per_token = 0;
  uint32_t ffn_size = 0;
  uint32_t shared_ffn_size = 0;  ///< of the expert that every token passes; 0: none
  Routing routing = Routing::softmax;
  bool normalized = false;               ///< the chosen experts' weights are divided by their sum
  float scale = 1.0f;                    ///< multiplies the weights
  uint32_t groups = 1, groups_kept = 1;  ///< only the best groups are chosen from
  uint32_t group_top = 1;                ///< a group's score: the sum of so many of its best
};

/// Multi-head latent attention, always in its absorbed form: a stored key is the latent and the
/// rotated part, a value is the latent. Then num_kv_heads = 1 and head_dim = kv_rank + rope.dim.
struct LatentConfig {
  uint32_t kv_rank = 0;        ///< 0: the model has none
  uint32_t query_rank = 0;     ///< 0: queries are projected at once
  uint32_t nope_dim = 0;       ///< elements of a head that are not rotated
  uint32_t value_dim = 0;      ///< of a head
  float norm_epsilon = 1e-6f;  ///< of the latents' norms: the models' own code never sets it
};

struct IndexerConfig {
  uint32_t heads = 0;  ///< 0: the model has none
  uint32_t dim = 0;    ///< of a head; the first rope.dim elements are rotated
  uint32_t top_k = 0;  ///< positions that a query sees
  RopePairing pairing = RopePairing::neox;
};

struct ModelConfig {
  std::string architecture;  ///< the family's name
  std::string name;          ///< general.name; may be empty
  uint32_t num_layers = 0;
  uint32_t hidden_size = 0;
  uint32_t num_heads = 0;
  uint32_t num_kv_heads = 0;
  uint32_t head_dim = 0;  ///< elements of a stored key
  uint32_t ffn_size = 0;
  uint32_t vocab_size = 0;
  uint32_t context_max = 0;  ///< tokens that the model was made for
  float norm_epsilon = 1e-5f;
  float norm_offset = 0.0f;  ///< added to every norm's weight
  bool tied_embedding = false;
  float embedding_scale = 1.0f;
  float attention_scale = 0.0f;  ///< multiplies scores; 0: 1 / sqrt(head_dim)
  float attention_cap = 0.0f;    ///< scores become cap * tanh(score / cap); 0: none
  float logit_cap = 0.0f;        ///< the same of the logits
  QkNorm qk_norm = QkNorm::none;
  Activation activation = Activation::silu;
  float swiglu_limit = 0.0f, swiglu_alpha = 0.0f;  ///< of clamped_swiglu
  RopeConfig rope;
  RopeConfig local_rope;  ///< dim = 0: the model has none
  ExpertsConfig experts;
  LatentConfig latent;
  IndexerConfig indexer;
  std::vector<LayerConfig> layers;  ///< [num_layers], or none: all as a LayerConfig is made

  [[nodiscard]] uint32_t group_size() const { return num_heads / num_kv_heads; }
  [[nodiscard]] LayerConfig layer(uint32_t i) const {
    return layers.empty() ? LayerConfig{} : layers[i];
  }
  /// Elements of a value as attention reads it.
  [[nodiscard]] uint32_t stored_value_dim() const {
    return latent.kv_rank != 0 ? latent.kv_rank : head_dim;
  }
};

}  // namespace troupe::model
