// The plain reading of docs/numerics.md section 4 for one query: what the tests hold attention to.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/math.hpp"

namespace troupe::cpu::reference {

inline float sum_of_lanes(const std::vector<float>& values) {
  float lane[16] = {};
  for (size_t i = 0; i < values.size(); ++i) lane[i % 16] += values[i];
  for (int step = 8; step >= 1; step /= 2) {
    for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
  }
  return lane[0];
}

/// key(position, d) and value(position, d) give what is stored; attends positions 0..position.
inline std::vector<float> attention(const std::vector<float>& query, uint32_t position, float scale,
                                    const std::function<float(uint32_t, uint32_t)>& key,
                                    const std::function<float(uint32_t, uint32_t)>& value) {
  const auto dim = static_cast<uint32_t>(query.size());
  const uint32_t end = position + 1;
  float merged_max = 0, merged_sum = 0;
  std::vector<float> merged(dim);
  for (uint32_t split = 0; split < end; split += 1024) {
    float max = -std::numeric_limits<float>::infinity(), sum = 0;
    std::vector<float> acc(dim);
    const uint32_t split_end = std::min(end, split + 1024);
    for (uint32_t tile = split; tile < split_end; tile += 64) {
      const uint32_t tile_end = std::min(split_end, tile + 64);
      std::vector<float> p;
      float tile_max = -std::numeric_limits<float>::infinity();
      for (uint32_t i = tile; i < tile_end; ++i) {
        float score = 0;
        for (uint32_t d = 0; d < dim; ++d) score = std::fma(query[d], key(i, d), score);
        p.push_back(score * scale);
        tile_max = std::max(tile_max, p.back());
      }
      const float new_max = std::max(max, tile_max);
      for (float& x : p) x = exp_fixed(x - new_max);
      const float factor = exp_fixed(max - new_max);
      max = new_max;
      sum = sum * factor + sum_of_lanes(p);
      for (uint32_t d = 0; d < dim; ++d) {
        acc[d] = acc[d] * factor;
        for (uint32_t i = tile; i < tile_end; ++i) {
          acc[d] = std::fma(p[i - tile], value(i, d), acc[d]);
        }
      }
    }
    if (split == 0) {
      merged_max = max;
      merged_sum = sum;
      merged = acc;
      continue;
    }
    const float new_max = std::max(merged_max, max);
    const float before = exp_fixed(merged_max - new_max), now = exp_fixed(max - new_max);
    for (uint32_t d = 0; d < dim; ++d) merged[d] = merged[d] * before + acc[d] * now;
    merged_sum = merged_sum * before + sum * now;
    merged_max = new_max;
  }
  for (float& x : merged) x = x / merged_sum;
  return merged;
}

}  // namespace troupe::cpu::reference
