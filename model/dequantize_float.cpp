// Floating-point elements. FP8 as in the Open Compute Project's "OCP 8-bit Floating Point
// Specification" 1.0: E4M3 has no infinity and one NaN pattern, E5M2 is the upper half of an F16.
#include <bit>
#include <limits>

#include "model/block_bytes.hpp"
#include "model/dequantize.hpp"

namespace troupe::model {

void dequantize_f32(const std::byte* element, float* out) {
  std::memcpy(out, element, sizeof(float));
}

void dequantize_f16(const std::byte* element, float* out) {
  *out = half_at(element);
}

void dequantize_bf16(const std::byte* element, float* out) {
  *out = std::bit_cast<float>(u16_at(element) << 16);
}

void dequantize_f64(const std::byte* element, float* out) {
  double value;
  std::memcpy(&value, element, sizeof value);
  *out = static_cast<float>(value);
}

void dequantize_f8_e4m3(const std::byte* element, float* out) {
  const uint32_t bits = byte_at(element, 0);
  const uint32_t exponent = (bits >> 3) & 15u;
  const uint32_t mantissa = bits & 7u;
  float magnitude;
  if (exponent == 15 && mantissa == 7) {
    magnitude = std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = static_cast<float>(mantissa) * 0x1p-9f;
  } else {
    magnitude = std::bit_cast<float>(((exponent + 120u) << 23) | (mantissa << 20));
  }
  *out = (bits & 0x80u) != 0 ? -magnitude : magnitude;
}

void dequantize_f8_e5m2(const std::byte* element, float* out) {
  *out = half_to_float(static_cast<uint16_t>(byte_at(element, 0) << 8));
}

}  // namespace troupe::model
