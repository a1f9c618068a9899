#include "cpu/panel_format.hpp"

#include <cstring>

#include "cpu/panel_layout.hpp"
#include "model/block_bytes.hpp"
#include "model/k_scales.hpp"

namespace troupe::cpu {
namespace {

using model::byte_at;
using model::u16_at;
using model::u32_at;

constexpr uint32_t low_bits = 0x0f0f0f0f;
constexpr uint32_t chunks = 8;

/// The codes of 32 weights of a row, 4 in each word.
struct Codes {
  uint32_t words[chunks];
};

/// Element i and i + 16 in the halves of byte i.
Codes nibbles(const std::byte* at) {
  Codes codes;
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t both = u32_at(at + 4 * j);
    codes.words[j] = both & low_bits;
    codes.words[j + 4] = (both >> 4) & low_bits;
  }
  return codes;
}

/// As nibbles, with a fifth bit of each in a word before them.
Codes nibbles_and_fifths(const std::byte* at) {
  Codes codes = nibbles(at + 4);
  const uint32_t fifths = u32_at(at);
  for (uint32_t j = 0; j < chunks; ++j) {
    const uint32_t bits = (fifths >> (4 * j)) & 15u;
    // The products put bit i of the four into bit 0 of byte i.
    codes.words[j] |= ((bits * 0x00204081u) & 0x01010101u) << 4;
  }
  return codes;
}

/// Block `i` of the codes of Q4_K and Q5_K: 32 bytes have one block in their lower halves and the
/// next above.
Codes k_nibbles(const std::byte* at, uint32_t i) {
  Codes codes;
  for (uint32_t j = 0; j < chunks; ++j) {
    codes.words[j] = (u32_at(at + 32 * (i / 2) + 4 * j) >> (i % 2 * 4)) & low_bits;
  }
  return codes;
}

Codes q5_k_codes(const std::byte* block, uint32_t i) {
  Codes codes = k_nibbles(block + 48, i);
  for (uint32_t j = 0; j < chunks; ++j) {
    codes.words[j] |= ((u32_at(block + 16 + 4 * j) >> i) & 0x01010101u) << 4;
  }
  return codes;
}

Codes q6_k_codes(const std::byte* block, uint32_t i) {
  Codes codes;
  const std::byte* low = block + i / 4 * 64 + i % 2 * 32;
  const std::byte* high = block + 128 + i / 4 * 32;
  for (uint32_t j = 0; j < chunks; ++j) {
    codes.words[j] = ((u32_at(low + 4 * j) >> (i % 4 / 2 * 4)) & low_bits) |
                     (((u32_at(high + 4 * j) >> (i % 4 * 2)) & 0x03030303u) << 4);
  }
  return codes;
}

void put_word(uint8_t* at, uint32_t lane, uint32_t word) {
  std::memcpy(at + 4 * lane, &word, sizeof word);
}

/// By panel_layout.hpp. Inlined, with those that call it, into the loop of each type: what the
/// layout leaves out then costs nothing.
[[gnu::always_inline]] inline void put_codes(const Codes& codes, uint32_t bits, uint32_t lane,
                                             uint8_t* at) {
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t low = codes.words[2 * j] & low_bits;
    put_word(at + 64 * j, lane, low | ((codes.words[2 * j + 1] & low_bits) << 4));
  }
  uint32_t upper = 0, rest = 0;
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t first = (codes.words[j] >> 4) & 0x03030303u;
    const uint32_t second = (codes.words[j + 4] >> 4) & 0x03030303u;
    upper |= bits == 5 ? (first << j) | (second << (j + 4)) : first << (2 * j);
    rest |= second << (2 * j);
  }
  if (bits >= 5) put_word(at + 256, lane, upper);
  if (bits == 6) put_word(at + 320, lane, rest);
}

/// A row's place in a step of a panel.
struct StepRow {
  const PanelLayout& layout;
  uint32_t lane;
  uint8_t* step;

  void codes(uint32_t block, const Codes& codes) const {
    put_codes(codes, layout.bits, lane, step + block * layout.code_bytes());
  }
  void byte(uint32_t block, uint32_t n, uint32_t value) const {
    step[layout.bytes_at(block) + n * panel_rows + lane] = static_cast<uint8_t>(value);
  }
  void half(uint32_t n, uint32_t bits) const {
    const auto value = static_cast<uint16_t>(bits);
    std::memcpy(step + layout.halves_at() + 2 * (n * panel_rows + lane), &value, sizeof value);
  }
};

[[gnu::always_inline]] inline void pack_q8_0(const std::byte* block, const StepRow& to) {
  to.half(0, u16_at(block));
  for (uint32_t j = 0; j < chunks; ++j) {
    put_word(to.step + 64 * j, to.lane, u32_at(block + 2 + 4 * j));
  }
}

/// Q4_0, Q4_1, IQ4_NL.
[[gnu::always_inline]] inline void pack_nibbles(const std::byte* block, const StepRow& to) {
  for (uint32_t n = 0; n < to.layout.halves; ++n) to.half(n, u16_at(block + 2 * n));
  to.codes(0, nibbles(block + 2 * to.layout.halves));
}

/// Q5_0, Q5_1.
[[gnu::always_inline]] inline void pack_fifths(const std::byte* block, const StepRow& to) {
  for (uint32_t n = 0; n < to.layout.halves; ++n) to.half(n, u16_at(block + 2 * n));
  to.codes(0, nibbles_and_fifths(block + 2 * to.layout.halves));
}

/// Q4_K, Q5_K.
[[gnu::always_inline]] inline void pack_k(const std::byte* block, const StepRow& to) {
  constexpr uint32_t sign = 0x8000;
  to.half(0, u16_at(block));
  to.half(1, u16_at(block + 2) ^ sign);
  for (uint32_t i = 0; i < superblock_blocks; ++i) {
    const model::ScaleAndMinimum part = model::scale_and_minimum(block + 4, i);
    to.byte(i, 0, static_cast<uint32_t>(part.scale));
    to.byte(i, 1, static_cast<uint32_t>(part.minimum));
    to.codes(i, to.layout.bits == 4 ? k_nibbles(block + 16, i) : q5_k_codes(block, i));
  }
}

[[gnu::always_inline]] inline void pack_q6_k(const std::byte* block, const StepRow& to) {
  to.half(0, u16_at(block + 208));
  for (uint32_t i = 0; i < superblock_blocks; ++i) {
    for (uint32_t n = 0; n < 2; ++n) to.byte(i, n, byte_at(block, 192 + 2 * i + n));
    to.codes(i, q6_k_codes(block, i));
  }
}

[[gnu::always_inline]] inline void pack_iq4_xs(const std::byte* block, const StepRow& to) {
  to.half(0, u16_at(block));
  for (uint32_t i = 0; i < superblock_blocks; ++i) {
    const uint32_t scale =
        model::nibble_at(block + 4, i) | (((u16_at(block + 2) >> (2 * i)) & 3u) << 4);
    to.byte(i, 0, scale - 32);
    to.codes(i, nibbles(block + 8 + 16 * i));
  }
}

[[gnu::always_inline]] inline void pack_mxfp4(const std::byte* block, const StepRow& to) {
  to.byte(0, 0, byte_at(block, 0));
  to.codes(0, nibbles(block + 1));
}

template <const PanelLayout& layout, size_t stored_bytes,
          void (*pack_step)(const std::byte*, const StepRow&)>
void pack_blocks(const std::byte* stored, uint32_t cols, uint32_t lane, uint8_t* panel) {
  const uint32_t steps = cols / (layout.step_blocks * quant_block);
  for (uint32_t s = 0; s < steps; ++s, stored += stored_bytes, panel += layout.step_bytes()) {
    pack_step(stored, {layout, lane, panel});
  }
}

template <class Element>
void pack_elements(const std::byte* stored, uint32_t cols, uint32_t lane, uint8_t* panel) {
  for (uint32_t k = 0; k < cols; ++k) {
    std::memcpy(panel + (size_t{k} * panel_rows + lane) * sizeof(Element),
                stored + size_t{k} * sizeof(Element), sizeof(Element));
  }
}

template <const PanelLayout& layout, size_t stored_bytes,
          void (*pack_step)(const std::byte*, const StepRow&)>
PanelFormat blocks(void (*KernelTable::*kernel)(const MatmulArgs&)) {
  return {kernel, layout.step_blocks * quant_block, layout.step_bytes(), true,
          pack_blocks<layout, stored_bytes, pack_step>};
}

template <class Element>
PanelFormat elements(void (*KernelTable::*kernel)(const MatmulArgs&)) {
  return {kernel, 1, panel_rows * sizeof(Element), false, pack_elements<Element>};
}

}  // namespace

PanelFormat panel_format(model::TensorType type) {
  using Table = KernelTable;
  using Type = model::TensorType;
  switch (type) {
    case Type::f16:
      return elements<uint16_t>(&Table::matmul_f16);
    case Type::bf16:
      return elements<uint16_t>(&Table::matmul_bf16);
    case Type::q8_0:
      return blocks<q8_0_layout, 34, pack_q8_0>(&Table::matmul_q8_0);
    case Type::q4_0:
      return blocks<q4_0_layout, 18, pack_nibbles>(&Table::matmul_q4_0);
    case Type::q4_1:
      return blocks<q4_1_layout, 20, pack_nibbles>(&Table::matmul_q4_1);
    case Type::q5_0:
      return blocks<q5_0_layout, 22, pack_fifths>(&Table::matmul_q5_0);
    case Type::q5_1:
      return blocks<q5_1_layout, 24, pack_fifths>(&Table::matmul_q5_1);
    case Type::q4_k:
      return blocks<q4_k_layout, 144, pack_k>(&Table::matmul_q4_k);
    case Type::q5_k:
      return blocks<q5_k_layout, 176, pack_k>(&Table::matmul_q5_k);
    case Type::q6_k:
      return blocks<q6_k_layout, 210, pack_q6_k>(&Table::matmul_q6_k);
    case Type::iq4_nl:
      return blocks<iq4_nl_layout, 18, pack_nibbles>(&Table::matmul_iq4_nl);
    case Type::iq4_xs:
      return blocks<iq4_xs_layout, 136, pack_iq4_xs>(&Table::matmul_iq4_xs);
    case Type::mxfp4:
      return blocks<mxfp4_layout, 17, pack_mxfp4>(&Table::matmul_mxfp4);
    default:
      return elements<float>(&Table::matmul_f32);
  }
}

}  // namespace troupe::cpu
