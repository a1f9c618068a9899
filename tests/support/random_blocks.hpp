// Random rows of the quantised types: any codes and small scales, with sane F16 numbers.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.hpp"
#include "model/tensor.hpp"
#include "tests/support/gguf_format.hpp"

namespace troupe::testing {

/// Where the F16 numbers of a block lie.
inline std::vector<size_t> half_places(model::TensorType type) {
  using Type = model::TensorType;
  switch (type) {
    case Type::q4_1:
    case Type::q5_1:
    case Type::q4_k:
    case Type::q5_k:
      return {0, 2};
    case Type::q2_k:
      return {80, 82};
    case Type::q3_k:
      return {108};
    case Type::q6_k:
      return {208};
    case Type::tq1_0:
      return {52};
    case Type::tq2_0:
      return {64};
    case Type::mxfp4:
    case Type::nvfp4:
      return {};
    default:
      return {0};
  }
}

/// `count` blocks of a type that has blocks.
inline Bytes random_blocks(model::TensorType type, size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> scales(0.01f, 0.02f);
  const size_t size = model::info(type).block_bytes;
  Bytes bytes(count * size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(generator());
  for (size_t at = 0; at < bytes.size(); at += size) {
    for (const size_t place : half_places(type)) {
      const uint16_t scale = float_to_half(scales(generator));
      std::memcpy(&bytes[at + place], &scale, sizeof scale);
    }
    if (type == model::TensorType::mxfp4) bytes[at] = static_cast<std::byte>(118 + generator() % 5);
  }
  return bytes;
}

}  // namespace troupe::testing
