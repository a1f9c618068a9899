// What the weights of a model are called in one file format.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "model/family.hpp"

namespace troupe::model {

struct WeightNames {
  std::string embedding, output_norm, output;
  std::string layers;                        ///< before a layer's number
  std::array<std::string, num_parts> parts;  ///< after it and a dot; empty: there is no such part
  std::string key_up, value_up;  ///< latent_up in two, one of them transposed; empty: never

  [[nodiscard]] bool has(Part part) const { return !parts[static_cast<size_t>(part)].empty(); }
  /// "model.layers.3.mlp.down_proj.weight".
  [[nodiscard]] std::string of(uint32_t layer, Part part) const {
    return in_layer(layer, parts[static_cast<size_t>(part)]);
  }
  [[nodiscard]] std::string in_layer(uint32_t layer, const std::string& name) const {
    return layers + std::to_string(layer) + "." + name;
  }
};

WeightNames safetensors_names(const Family& family);
WeightNames gguf_names(const Family& family);

/// The name of the bias that belongs to a weight: "x.bias" for "x.weight", else "x_bias".
std::string bias_name(const std::string& weight);

}  // namespace troupe::model
