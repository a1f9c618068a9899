// F32, F16 and BF16 weights times F32 activations: one fma per element, ascending over K.
// A panel is [cols][16 rows] of the stored type; a strip is the same in F32.
#pragma once

#include "cpu/matmul.hpp"

namespace troupe::cpu {

/// Element: float, uint16_t (the bits of an F16) or Bf16.
template <class Isa, class Element>
struct FloatFormat {
  using F = typename Isa::F;
  using Activation = float;
  using Strip = FloatFormat<Isa, float>;
  static constexpr int tile_tokens = Isa::float_tile_tokens;
  static constexpr bool whole_panel = true;
  static constexpr size_t col_bytes = panel_rows * sizeof(Element);
  static constexpr uint32_t strip_tokens_min = sizeof(Element) == sizeof(float) ? UINT32_MAX : 16;

  static const Activation* activation(const MatmulArgs& a, uint32_t token) {
    return a.values + size_t{token} * a.matrix.cols;
  }

  static void unpack(const uint8_t* panel, uint32_t cols, uint8_t* strip) {
    const auto* in = reinterpret_cast<const Element*>(panel);
    auto* out = reinterpret_cast<float*>(strip);
    for (size_t i = 0; i < size_t{cols} * panel_rows; i += Isa::width) {
      Isa::store(out + i, load_stored<Isa>(in + i));
    }
  }

  template <int P, int T>
  static void chain(const uint8_t* panel, int part, uint32_t begin, uint32_t end,
                    const Activation* const* x, F* acc) {
    const auto* weights = reinterpret_cast<const Element*>(panel) + part * Isa::width;
    F sum[P * T];
#pragma GCC unroll 16
    for (int i = 0; i < P * T; ++i) sum[i] = acc[i];
    const float* in[T];
#pragma GCC unroll 16
    for (int t = 0; t < T; ++t) in[t] = x[t];
    for (uint32_t k = begin; k < end; ++k) {
      const Element* row = weights + size_t{k} * panel_rows;
      if constexpr (T == 1) __builtin_prefetch(row + prefetch_bytes / sizeof(Element));
      F w[P];
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) w[p] = load_stored<Isa>(row + p * Isa::width);
#pragma GCC unroll 16
      for (int t = 0; t < T; ++t) {
        const F value = Isa::set(in[t][k]);
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) sum[p * T + t] = Isa::fma(w[p], value, sum[p * T + t]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < P * T; ++i) acc[i] = sum[i];
  }
};

}  // namespace troupe::cpu
