// IQ formats with code books: blocks of 256 elements in groups of 8 (IQ1, IQ2) or 4 (IQ3), each
// group one entry of a grid, with signs and scales of their own. Source: block_iq1_s to block_iq3_s
// of ggml.
#include "model/block_bytes.hpp"
#include "model/dequantize.hpp"
#include "model/iq_grids.hpp"

namespace troupe::model {
namespace {

/// 8 elements of an IQ2 grid. Bit i of `signs`: element i is negative.
void write_iq2(uint32_t entry, uint32_t signs, float scale, float* out) {
  for (uint32_t i = 0; i < 8; ++i) {
    const float value = scale * iq2_magnitudes[(entry >> (2 * i)) & 3u];
    out[i] = ((signs >> i) & 1u) != 0 ? -value : value;
  }
}

/// 4 elements of an IQ3 grid; the signs are the lower four bits.
void write_iq3(uint32_t entry, const float* magnitudes, uint32_t signs, float scale, float* out) {
  for (uint32_t i = 0; i < 4; ++i) {
    const float value = scale * magnitudes[(entry >> (3 * i)) & 7u];
    out[i] = ((signs >> i) & 1u) != 0 ? -value : value;
  }
}

/// 8 elements of the IQ1 grid, all shifted by `delta`.
void write_iq1(uint32_t entry, float delta, float scale, float* out) {
  for (uint32_t i = 0; i < 8; ++i) {
    out[i] = scale * (centred((entry >> (2 * i)) & 3u, 1) + delta);
  }
}

constexpr float iq1_delta = 0.125f;

}  // namespace

void dequantize_iq2_xxs(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (size_t sub = 0; sub < 8; ++sub) {
    const std::byte* indices = block + 2 + 8 * sub;
    const uint32_t packed = u32_at(indices + 4);
    const float scale = d * (0.5f + centred(packed >> 28, 0)) * 0.25f;
    for (size_t group = 0; group < 4; ++group, out += 8) {
      const uint32_t signs = eight_signs((packed >> (7 * group)) & 127u);
      write_iq2(iq2_xxs_grid[byte_at(indices, group)], signs, scale, out);
    }
  }
}

void dequantize_iq2_xs(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (size_t group = 0; group < 32; ++group, out += 8) {
    const uint32_t packed = u16_at(block + 2 + 2 * group);
    const float scale = d * (0.5f + centred(nibble_at(block + 66, group / 2), 0)) * 0.25f;
    write_iq2(iq2_xs_grid[packed & 511u], eight_signs(packed >> 9), scale, out);
  }
}

void dequantize_iq2_s(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (size_t group = 0; group < 32; ++group, out += 8) {
    const uint32_t high = (byte_at(block, 66 + group / 4) >> (2 * (group % 4))) & 3u;
    const float scale = d * (0.5f + centred(nibble_at(block + 74, group / 2), 0)) * 0.25f;
    write_iq2(iq2_s_grid[byte_at(block, 2 + group) | (high << 8)], byte_at(block, 34 + group),
              scale, out);
  }
}

void dequantize_iq3_xxs(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (size_t group = 0; group < 64; ++group, out += 4) {
    const uint32_t packed = u32_at(block + 66 + group / 8 * 4);
    const float scale = d * (0.5f + centred(packed >> 28, 0)) * 0.5f;
    const uint32_t signs = eight_signs((packed >> (7 * (group % 8 / 2))) & 127u);
    write_iq3(iq3_xxs_grid[byte_at(block, 2 + group)], iq3_xxs_magnitudes,
              signs >> (4 * (group % 2)), scale, out);
  }
}

void dequantize_iq3_s(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (size_t group = 0; group < 64; ++group, out += 4) {
    const uint32_t high = (byte_at(block, 66 + group / 8) >> (group % 8)) & 1u;
    const float scale = d * centred(1 + 2 * nibble_at(block + 106, group / 8), 0);
    write_iq3(iq3_s_grid[byte_at(block, 2 + group) | (high << 8)], iq3_s_magnitudes,
              nibble_at(block + 74, group), scale, out);
  }
}

void dequantize_iq1_s(const std::byte* block, float* out) {
  const float d = half_at(block);
  for (size_t group = 0; group < 32; ++group, out += 8) {
    const uint32_t packed = u16_at(block + 34 + group / 4 * 2);
    const float scale = d * centred(2 * ((packed >> 12) & 7u) + 1, 0);
    const uint32_t high = (packed >> (3 * (group % 4))) & 7u;
    write_iq1(iq1_grid[byte_at(block, 2 + group) | (high << 8)],
              (packed & 0x8000u) != 0 ? -iq1_delta : iq1_delta, scale, out);
  }
}

void dequantize_iq1_m(const std::byte* block, float* out) {
  const std::byte* scales = block + 48;
  // The block's F16 scale is spread over the upper four bits of the four words of scales.
  uint32_t bits = 0;
  for (uint32_t word = 0; word < 4; ++word) bits |= (u16_at(scales + 2 * word) >> 12) << (4 * word);
  const float d = half_to_float(static_cast<uint16_t>(bits));
  for (size_t group = 0; group < 32; ++group, out += 8) {
    const size_t sub = group / 2;
    const uint32_t packed = (u16_at(scales + sub / 4 * 2) >> (3 * (sub % 4))) & 7u;
    const uint32_t high = nibble_at(block + 32, group);
    write_iq1(iq1_grid[byte_at(block, group) | ((high & 7u) << 8)],
              (high & 8u) != 0 ? -iq1_delta : iq1_delta, d * centred(2 * packed + 1, 0), out);
  }
}

}  // namespace troupe::model
