// The two reductions over the vocabulary: maximum, and sum of e^(x / divisor - maximum / divisor)
// in 8 fixed ranges of 16 virtual lanes each (docs/numerics.md section 3), so that the vocabulary
// can be sharded. log softmax(x)[i] = (x[i] - maximum) - log(sum) with divisor 1.
#pragma once

#include <cmath>
#include <cstdint>

#include "cpu/simd_math.hpp"

namespace troupe::cpu {

/// Maximum of x[n]; NaN is passed over (it shows in exp_sum).
template <class Isa>
float maximum(const float* x, uint32_t n) {
  constexpr uint32_t width = Isa::width;
  Lanes<Isa> highest(minus_infinity);
  const uint32_t whole = n / virtual_lanes * virtual_lanes;
  for (uint32_t i = 0; i < whole; i += virtual_lanes) {
    for (uint32_t p = 0; p < Lanes<Isa>::parts; ++p) {
      highest.part[p] = Isa::max(Isa::load(x + i + p * width), highest.part[p]);
    }
  }
  float result = highest.maximum();
  for (uint32_t i = whole; i < n; ++i) result = max_of<Isa>(x[i], result);
  return result;
}

/// Sum of e^(x[i] / divisor - highest / divisor), `highest` being the maximum of x. The terms are
/// written to weights[n] unless that is null. NaN exactly when an input is NaN or +inf, or all are
/// -inf.
template <class Isa>
float exp_sum(const float* x, uint32_t n, float divisor, float highest, float* weights) {
  using F = typename Isa::F;
  constexpr uint32_t width = Isa::width;
  const F top = Isa::set(highest / divisor);
  F leaf[tree_leaves][1];
  bool present[tree_leaves];
  for (uint32_t s = 0; s < tree_leaves; ++s) {
    const auto begin = static_cast<uint32_t>(uint64_t{s} * n / tree_leaves);
    const auto end = static_cast<uint32_t>(uint64_t{s + 1} * n / tree_leaves);
    Lanes<Isa> sum(0.0f);
    for (uint32_t i = begin; i < end; i += virtual_lanes) {
      for (uint32_t p = 0; p < Lanes<Isa>::parts; ++p) {
        const uint32_t at = i + p * width;
        if (at >= end) break;
        const int count = end - at < width ? static_cast<int>(end - at) : Isa::width;
        const bool whole = count == Isa::width;
        const F v = whole ? Isa::load(x + at) : load_some<Isa>(x + at, count, minus_infinity);
        const F e = exp_lanes<Isa>(Isa::sub(Isa::div(v, Isa::set(divisor)), top));
        sum.part[p] = Isa::add(sum.part[p], e);
        if (weights == nullptr) continue;
        if (whole) {
          Isa::store(weights + at, e);
        } else {
          store_some<Isa>(weights + at, count, e);
        }
      }
    }
    leaf[s][0] = Isa::set(sum.sum());
    present[s] = begin < end;
  }
  tree_of_eight<Isa, 1>(leaf, present);
  float lane[width];
  Isa::store(lane, leaf[0][0]);
  return lane[0];
}

namespace reference {

inline float exp_sum(const float* x, uint32_t n, float divisor, float highest, float* weights) {
  float range_sum[8];
  bool present[8];
  for (uint32_t s = 0; s < 8; ++s) {
    const auto begin = static_cast<uint32_t>(uint64_t{s} * n / 8);
    const auto end = static_cast<uint32_t>(uint64_t{s + 1} * n / 8);
    float lane[16] = {};
    for (uint32_t i = begin; i < end; ++i) {
      weights[i] = exp_fixed(x[i] / divisor - highest / divisor);
      lane[(i - begin) % 16] += weights[i];
    }
    for (int step = 8; step >= 1; step /= 2) {
      for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
    }
    range_sum[s] = lane[0];
    present[s] = begin < end;
  }
  for (uint32_t step = 1; step < 8; step *= 2) {
    for (uint32_t s = 0; s < 8; s += 2 * step) {
      if (present[s] && present[s + step]) range_sum[s] += range_sum[s + step];
      if (!present[s]) range_sum[s] = range_sum[s + step];
      present[s] = present[s] || present[s + step];
    }
  }
  return range_sum[0];
}

}  // namespace reference
}  // namespace troupe::cpu
