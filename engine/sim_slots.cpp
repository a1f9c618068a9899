#include "engine/sim_slots.hpp"

#include <cstring>

#include "base/concat.hpp"

namespace troupe::engine {

uint64_t sim_mix(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9E3779B97F4A7C15u)) * 0xBF58476D1CE4E5B9u;
  x ^= x >> 31;
  x *= 0x94D049BB133111EBu;
  return x ^ (x >> 29);
}

uint64_t SimSlots::link(uint64_t parent, int32_t token, uint32_t position) {
  return sim_mix(parent, (uint64_t{position} << 32) | static_cast<uint32_t>(token));
}

namespace {

constexpr uint32_t words = 4;  ///< of the 8 dimensions; the rest of a slot is zero

void seal(const SimSlots::Slot& slot, uint32_t position, uint32_t (&k)[words],
          uint32_t (&v)[words]) {
  k[0] = static_cast<uint32_t>(slot.chain);
  k[1] = static_cast<uint32_t>(slot.chain >> 32);
  k[2] = static_cast<uint32_t>(slot.token);
  k[3] = position;
  const uint64_t low = sim_mix(slot.chain, k[2] ^ (uint64_t{position} << 32));
  const uint64_t high = sim_mix(low, 1);
  v[0] = static_cast<uint32_t>(low);
  v[1] = static_cast<uint32_t>(low >> 32);
  v[2] = static_cast<uint32_t>(high);
  v[3] = static_cast<uint32_t>(high >> 32);
}

}  // namespace

std::byte* SimSlots::block(std::span<const kv::PageId> table, uint32_t position) const {
  const size_t page = table[position / layout_.tokens_per_block];
  return region_.data + page * layout_.block_bytes();
}

size_t SimSlots::k_at(size_t dim, size_t token) const {
  return layout_.k_offset(0, 0) + sizeof(float) * (dim * layout_.tokens_per_block + token);
}

size_t SimSlots::v_at(size_t dim, size_t token) const {
  return layout_.v_offset(0, 0) + sizeof(float) * (token * layout_.head_dim + dim);
}

void SimSlots::write(std::span<const kv::PageId> table, uint32_t position, const Slot& slot) {
  uint32_t k[words], v[words];
  seal(slot, position, k, v);
  std::byte* at = block(table, position);
  const size_t in_block = position % layout_.tokens_per_block;
  for (size_t dim = 0; dim < layout_.head_dim; ++dim) {
    const uint32_t k_word = dim < words ? k[dim] : 0, v_word = dim < words ? v[dim] : 0;
    std::memcpy(at + k_at(dim, in_block), &k_word, 4);
    std::memcpy(at + v_at(dim, in_block), &v_word, 4);
  }
}

Result<SimSlots::Slot> SimSlots::read(std::span<const kv::PageId> table, uint32_t position) const {
  const std::byte* at = block(table, position);
  const size_t in_block = position % layout_.tokens_per_block;
  uint32_t k[words], v[words], expected_k[words], expected_v[words];
  for (size_t dim = 0; dim < words; ++dim) {
    std::memcpy(&k[dim], at + k_at(dim, in_block), 4);
    std::memcpy(&v[dim], at + v_at(dim, in_block), 4);
  }
  const Slot slot{k[0] | (uint64_t{k[1]} << 32), static_cast<int32_t>(k[2])};
  seal(slot, position, expected_k, expected_v);
  if (k[3] != position || std::memcmp(v, expected_v, sizeof v) != 0) {
    return error(Code::corrupt, concat("the KV slot of position ", position, " in page ",
                                       table[position / layout_.tokens_per_block],
                                       " was never written for this position"));
  }
  return slot;
}

}  // namespace troupe::engine
