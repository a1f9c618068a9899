#include "cpu/memory_needs.hpp"

#include "cpu/panel_format.hpp"
#include "model/kernel_type.hpp"

namespace troupe::cpu {
namespace {

uint64_t ffn_bytes(const model::FfnWeights& ffn, ComputeMode mode) {
  return packed_matrix_bytes(ffn.gate, mode) + packed_matrix_bytes(ffn.up, mode) +
         packed_matrix_bytes(ffn.down, mode);
}

uint64_t layer_bytes(const model::LayerWeights& l, ComputeMode mode) {
  uint64_t bytes = ffn_bytes(l.ffn, mode) + ffn_bytes(l.shared, mode);
  for (const model::FfnWeights& expert : l.experts) bytes += ffn_bytes(expert, mode);
  for (const model::Tensor* tensor :
       {&l.query, &l.key, &l.value, &l.attention_output, &l.latent.query_down, &l.latent.down,
        &l.latent.up, &l.latent.key_up, &l.latent.value_up, &l.indexer.query, &l.indexer.key,
        &l.indexer.weights, &l.router}) {
    bytes += packed_matrix_bytes(*tensor, mode);
  }
  return bytes;
}

}  // namespace

uint64_t packed_matrix_bytes(const model::Tensor& tensor, ComputeMode mode) {
  if (!tensor.present()) return 0;
  const model::TensorType type =
      mode == ComputeMode::exact ? model::TensorType::f32 : model::kernel_type(tensor.type);
  const uint64_t panels = (uint64_t{tensor.rows} + panel_rows - 1) / panel_rows;
  return panels * panel_format(type).panel_bytes(tensor.cols);
}

uint64_t packed_weight_bytes(const model::Model& model, ComputeMode mode) {
  uint64_t bytes = packed_matrix_bytes(model.weights.output, mode);
  for (const model::LayerWeights& layer : model.weights.layers) bytes += layer_bytes(layer, mode);
  return bytes;
}

}  // namespace troupe::cpu
