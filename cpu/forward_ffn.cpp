// The gated feed-forward part of a layer without experts.
#include <algorithm>

#include "cpu/forward.hpp"

namespace troupe::cpu {

void Forward::feed_forward_part(uint32_t layer) {
  const PackedLayer& weights = model_.layers[layer];
  if (config_.layer(layer).experts) {
    experts_part(weights);
    return;
  }
  gate_and_up(weights.ffn, normed());
  add_to_residual({gate_.data(), tokens_, weights.ffn.down.cols()}, weights.ffn.down,
                  weights.ffn.down_bias, weights.ffn_post_norm);
}

/// The panels of a part are gated by whoever computed them, while they are in the cache.
void Forward::gate_and_up(const PackedFfn& ffn, const MatmulInput& input) {
  const uint32_t size = ffn.gate.rows();
  const MatmulJob jobs[] = {{&ffn.gate, gate_.data(), size, input.rows, 0, false},
                            {&ffn.up, up_.data(), size, input.rows, 0, false}};
  compute_.prepare(input, jobs);
  compute_.in_parts([&](int part, int parts) {
    const auto [begin, end] = ThreadPool::share(ffn.gate.num_panels(), part, parts);
    const auto first = static_cast<uint32_t>(begin), last = static_cast<uint32_t>(end);
    if (first == last) return;
    compute_.panels(input, jobs[0], part, first, last);
    compute_.panels(input, jobs[1], part, first, last);
    const uint32_t row = first * panel_rows, row_end = std::min(last * panel_rows, size);
    for (size_t t = 0; t < input.rows; ++t) {
      activate(ffn, &gate_[t * size], &up_[t * size], row, row_end);
    }
  });
}

void Forward::activate(const PackedFfn& ffn, float* gate, float* up, uint32_t begin,
                       uint32_t end) const {
  if (!ffn.gate_bias.empty()) {
    for (uint32_t i = begin; i < end; ++i) gate[i] += ffn.gate_bias[i];
  }
  if (!ffn.up_bias.empty()) {
    for (uint32_t i = begin; i < end; ++i) up[i] += ffn.up_bias[i];
  }
  switch (config_.activation) {
    case model::Activation::silu:
      kernels_.swiglu(gate + begin, up + begin, end - begin);
      break;
    case model::Activation::gelu_tanh:
      kernels_.gelu_tanh(gate + begin, up + begin, end - begin);
      break;
    case model::Activation::clamped_swiglu:
      kernels_.clamped_swiglu(gate + begin, up + begin, end - begin, config_.swiglu_limit,
                              config_.swiglu_alpha);
      break;
  }
}

}  // namespace troupe::cpu
