// The resolved configuration of a decoder model: what the forward pass interprets.
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

struct RopeConfig {
  RopePairing pairing = RopePairing::norm;
  uint32_t dim = 0;  ///< rotated elements of a head (even)
  double base = 10000.0;
  std::vector<double> inverse_frequency;  ///< [dim / 2], every scaling already applied
};

struct ModelConfig {
  std::string architecture;  ///< "llama"
  std::string name;          ///< general.name; may be empty
  uint32_t num_layers = 0;
  uint32_t hidden_size = 0;
  uint32_t num_heads = 0;
  uint32_t num_kv_heads = 0;
  uint32_t head_dim = 0;
  uint32_t ffn_size = 0;
  uint32_t vocab_size = 0;
  uint32_t context_max = 0;  ///< tokens that the model was made for
  float norm_epsilon = 1e-5f;
  bool tied_embedding = false;
  RopeConfig rope;

  [[nodiscard]] uint32_t group_size() const { return num_heads / num_kv_heads; }
};

}  // namespace troupe::model
