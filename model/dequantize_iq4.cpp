// IQ4: 4-bit codes that index 16 values spaced by the distribution of weights. Source: block_iq4_nl
// and block_iq4_xs of ggml.
#include "model/block_bytes.hpp"
#include "model/dequantize.hpp"

namespace troupe::model {
namespace {

constexpr float iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

/// 32 elements from 16 bytes: lower halves first.
void write_iq4(const std::byte* codes, float scale, float* out) {
  for (size_t i = 0; i < 16; ++i) {
    out[i] = scale * iq4_values[byte_at(codes, i) & 15u];
    out[i + 16] = scale * iq4_values[byte_at(codes, i) >> 4];
  }
}

}  // namespace

void dequantize_iq4_nl(const std::byte* block, float* out) {
  write_iq4(block + 2, half_at(block), out);
}

void dequantize_iq4_xs(const std::byte* block, float* out) {
  const float d = half_at(block);
  const uint32_t high = u16_at(block + 2);
  for (size_t sub = 0; sub < 8; ++sub) {
    const uint32_t packed = nibble_at(block + 4, sub) | (((high >> (2 * sub)) & 3u) << 4);
    write_iq4(block + 8 + 16 * sub, d * centred(packed, 32), out + 32 * sub);
  }
}

}  // namespace troupe::model
