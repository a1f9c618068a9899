// The plain reading of docs/numerics.md section 2, straight from the stored rows: what the tests
// hold every kernel to.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cpu/matmul.hpp"
#include "model/block_bytes.hpp"
#include "model/k_scales.hpp"
#include "model/tensor.hpp"

namespace troupe::cpu::reference {

/// 32 weights: w = scale * code + minimum, with a scale for each half.
struct WeightBlock {
  int32_t codes[quant_block];
  float scales[2];
  float minimum = 0.0f;
  bool has_minimum = false;
  bool halves = false;  ///< each half is a block of its own
};

inline void read_nibbles(const std::byte* at, WeightBlock& out) {
  for (uint32_t i = 0; i < quant_block; ++i) {
    out.codes[i] = static_cast<int32_t>(model::byte_at(at, i % 16) >> (i / 16 * 4)) & 15;
  }
}

inline void add_fifths(uint32_t bits, WeightBlock& out) {
  for (uint32_t i = 0; i < quant_block; ++i) {
    out.codes[i] += static_cast<int32_t>((bits >> i) & 1u) * 16;
  }
}

inline void centre(int32_t offset, WeightBlock& out) {
  for (int32_t& code : out.codes) code -= offset;
}

/// Blocks of 32 with F16 scales.
inline void read_simple(model::TensorType type, const std::byte* at, WeightBlock& out) {
  using Type = model::TensorType;
  out.scales[0] = model::half_at(at);
  out.has_minimum = type == Type::q4_1 || type == Type::q5_1;
  if (out.has_minimum) out.minimum = model::half_at(at + 2);
  const std::byte* codes = at + (out.has_minimum ? 4 : 2);
  if (type == Type::q8_0) {
    for (uint32_t i = 0; i < quant_block; ++i) out.codes[i] = static_cast<int8_t>(codes[i]);
    return;
  }
  const bool fifths = type == Type::q5_0 || type == Type::q5_1;
  read_nibbles(codes + (fifths ? 4 : 0), out);
  if (fifths) add_fifths(model::u32_at(codes), out);
  if (type == Type::q4_0) centre(8, out);
  if (type == Type::q5_0) centre(16, out);
}

/// Block `i` of a superblock of Q4_K, Q5_K or Q6_K.
inline void read_k(model::TensorType type, const std::byte* at, uint32_t i, WeightBlock& out) {
  using Type = model::TensorType;
  const auto byte = [at](uint32_t n) { return static_cast<int32_t>(model::byte_at(at, n)); };
  if (type == Type::q6_k) {
    out.halves = true;
    for (uint32_t e = 0; e < quant_block; ++e) {
      const uint32_t k = quant_block * i + e;
      const int32_t low = byte(k / 128 * 64 + k % 64) >> (k % 128 / 64 * 4);
      const int32_t high = byte(128 + k / 128 * 32 + k % 32) >> (k % 128 / 32 * 2);
      out.codes[e] = ((low & 15) | ((high & 3) << 4)) - 32;
    }
    for (uint32_t half = 0; half < 2; ++half) {
      const auto scale = static_cast<int8_t>(at[192 + 2 * i + half]);
      out.scales[half] = model::half_at(at + 208) * static_cast<float>(scale);
    }
    return;
  }
  const model::ScaleAndMinimum part = model::scale_and_minimum(at + 4, i);
  out.scales[0] = model::half_at(at) * part.scale;
  out.minimum = -(model::half_at(at + 2) * part.minimum);
  out.has_minimum = true;
  const uint32_t codes = type == Type::q4_k ? 16 : 48;
  for (uint32_t e = 0; e < quant_block; ++e) {
    out.codes[e] = (byte(codes + i / 2 * 32 + e) >> (i % 2 * 4)) & 15;
    if (type == Type::q5_k) out.codes[e] += ((byte(16 + e) >> i) & 1) * 16;
  }
}

/// Block `i` of a superblock of IQ4_XS, or a block of IQ4_NL or MXFP4.
inline void read_table(model::TensorType type, const std::byte* at, uint32_t i, WeightBlock& out) {
  using Type = model::TensorType;
  constexpr int32_t iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};
  constexpr int32_t fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  if (type == Type::mxfp4) {
    out.scales[0] = std::ldexp(1.0f, static_cast<int>(model::byte_at(at, 0)) - 128);
    read_nibbles(at + 1, out);
    for (int32_t& code : out.codes) code = fp4[code];
    return;
  }
  if (type == Type::iq4_nl) {
    out.scales[0] = model::half_at(at);
    read_nibbles(at + 2, out);
  } else {
    const uint32_t low = model::nibble_at(at + 4, i);
    const uint32_t high = (model::u16_at(at + 2) >> (2 * i)) & 3u;
    out.scales[0] = model::half_at(at) * (static_cast<float>(low + 16 * high) - 32.0f);
    read_nibbles(at + 8 + 16 * i, out);
  }
  for (int32_t& code : out.codes) code = iq4[code];
}

/// Block `i` of 32 of a stored row.
inline WeightBlock read_block(model::TensorType type, const std::byte* row, uint32_t i) {
  using Type = model::TensorType;
  const model::TensorTypeInfo& known = model::info(type);
  const uint32_t blocks = known.block_size / quant_block;
  const std::byte* at = row + size_t{i / blocks} * known.block_bytes;
  WeightBlock out;
  switch (type) {
    case Type::q4_k:
    case Type::q5_k:
    case Type::q6_k:
      read_k(type, at, i % blocks, out);
      break;
    case Type::iq4_nl:
    case Type::iq4_xs:
    case Type::mxfp4:
      read_table(type, at, i % blocks, out);
      break;
    default:
      read_simple(type, at, out);
  }
  return out;
}

/// acc plus one block of 32 of a stored row.
inline float add_block(const WeightBlock& w, const QuantizedBlock& x, float acc) {
  const uint32_t parts = w.halves ? 2 : 1;
  for (uint32_t part = 0; part < parts; ++part) {
    int32_t isum = 0;
    for (uint32_t i = part * 16; i < (part + 1) * quant_block / parts; ++i) {
      isum += w.codes[i] * x.values[i];
    }
    acc = std::fma(static_cast<float>(isum), w.scales[part] * x.scale, acc);
  }
  if (!w.has_minimum) return acc;
  return std::fma(w.minimum, x.scale * static_cast<float>(x.sum), acc);
}

/// Runs add_step(k, acc) over the steps of K: one chain, or 8 segments and their tree.
template <class AddStep>
float reduce(const std::vector<uint32_t>& segment_begin, AddStep add_step) {
  std::vector<float> sums;
  std::vector<bool> present;
  for (size_t s = 0; s + 1 < segment_begin.size(); ++s) {
    float acc = 0;
    for (uint32_t k = segment_begin[s]; k < segment_begin[s + 1]; ++k) acc = add_step(k, acc);
    sums.push_back(acc);
    present.push_back(segment_begin[s] < segment_begin[s + 1]);
  }
  while (sums.size() > 1) {
    std::vector<float> next;
    std::vector<bool> next_present;
    for (size_t i = 0; i < sums.size(); i += 2) {
      const bool left = present[i], right = present[i + 1];
      next.push_back(left && right ? sums[i] + sums[i + 1] : (left ? sums[i] : sums[i + 1]));
      next_present.push_back(left || right);
    }
    sums = next;
    present = next_present;
  }
  return sums[0];
}

}  // namespace troupe::cpu::reference
