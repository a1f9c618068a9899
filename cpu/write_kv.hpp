// Stores one token's K and V of one layer and head into its slot of a page, rounded to the pool's
// type (nearest even). Attention reads them back from there, the current token's own included.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

struct WriteKvArgs {
  std::byte* block = nullptr;       ///< the page
  size_t k_index = 0, v_index = 0;  ///< elements from its start to this layer and head
  bool half = true;
  uint32_t slot = 0;  ///< position mod 64
  uint32_t head_dim = 0;
  const float* key = nullptr;    ///< [head_dim], rotated
  const float* value = nullptr;  ///< [head_dim]
};

template <class Isa>
void write_kv(const WriteKvArgs& a) {
  constexpr size_t tokens = 64;
  if (a.half) {
    auto* block = reinterpret_cast<uint16_t*>(a.block);
    for (uint32_t d = 0; d < a.head_dim; ++d) {
      block[a.k_index + d * tokens + a.slot] = Isa::to_half(a.key[d]);
    }
    uint16_t* row = block + a.v_index + size_t{a.slot} * a.head_dim;
    const uint32_t whole = a.head_dim / Isa::width * Isa::width;
    for (uint32_t d = 0; d < whole; d += Isa::width) Isa::store(row + d, Isa::load(a.value + d));
    for (uint32_t d = whole; d < a.head_dim; ++d) row[d] = Isa::to_half(a.value[d]);
    return;
  }
  auto* block = reinterpret_cast<float*>(a.block);
  for (uint32_t d = 0; d < a.head_dim; ++d) {
    block[a.k_index + d * tokens + a.slot] = a.key[d];
    block[a.v_index + size_t{a.slot} * a.head_dim + d] = a.value[d];
  }
}

}  // namespace troupe::cpu
