// The best positions by an indexer's scores, ties to the lower position (docs/numerics.md section
// 4), as bits.
#pragma once

#include <cstdint>
#include <vector>

namespace troupe::cpu {

/// Sets the bits of the `top_k` highest of scores[positions]; all of them where there are no more.
/// `bits`: [ceil(positions / 64)], overwritten. `scratch` keeps its memory between calls.
void select_positions(const float* scores, uint32_t positions, uint32_t top_k, uint64_t* bits,
                      std::vector<uint64_t>& scratch);

}  // namespace troupe::cpu
