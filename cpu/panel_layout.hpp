// How a panel of 16 rows holds quantised weights, lanes being rows: steps of K one after another, a
// step being one block of 32 weights, or the eight of a superblock of 256.
//
// A step: the codes of its blocks; its 8-bit scales (block by block, 16 or 32 of them); its F16
// numbers (16 d, then 16 minima where there are any). The codes of a block are
//   8 bits  8 chunks of 64 bytes: bytes 4r..4r+3 of chunk j are row r's k = 4j..4j+3
//   4 bits  4 chunks of 64 bytes: chunk j holds k = 8j..8j+3 in the low nibbles, 8j+4..8j+7 above
//   5 bits  as 4 bits, then 64 bytes: bit j of bytes 4r..4r+3 is the fifth of row r's k = 4j..4j+3
//   6 bits  as 4 bits, then 2 * 64 bytes: bits 2j and 2j+1 of bytes 4r..4r+3 are the upper two of
//           k = 4j..4j+3, and of 16 more in the second 64
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

inline constexpr uint32_t panel_rows = 16;
inline constexpr uint32_t superblock_blocks = 8;

struct PanelLayout {
  uint32_t bits = 0;         ///< of a code
  uint32_t step_blocks = 1;  ///< blocks of 32 in a step
  uint32_t bytes = 0;        ///< 8-bit numbers of a row and block
  uint32_t halves = 0;       ///< F16 numbers of a row and step

  [[nodiscard]] constexpr size_t code_bytes() const { return size_t{64} * bits; }
  [[nodiscard]] constexpr size_t bytes_at(size_t block) const {
    return step_blocks * code_bytes() + block * bytes * panel_rows;
  }
  [[nodiscard]] constexpr size_t halves_at() const { return bytes_at(step_blocks); }
  [[nodiscard]] constexpr size_t step_bytes() const {
    return halves_at() + size_t{2} * halves * panel_rows;
  }
};

inline constexpr PanelLayout q8_0_layout{8, 1, 0, 1};
inline constexpr PanelLayout q4_0_layout{4, 1, 0, 1};
inline constexpr PanelLayout q4_1_layout{4, 1, 0, 2};
inline constexpr PanelLayout q4_k_layout{4, superblock_blocks, 2, 2};
inline constexpr PanelLayout q5_k_layout{5, superblock_blocks, 2, 2};
inline constexpr PanelLayout q6_k_layout{6, superblock_blocks, 2, 1};
inline constexpr PanelLayout q5_0_layout{5, 1, 0, 1};
inline constexpr PanelLayout q5_1_layout{5, 1, 0, 2};
inline constexpr PanelLayout iq4_nl_layout{4, 1, 0, 1};
inline constexpr PanelLayout iq4_xs_layout{4, superblock_blocks, 1, 1};
inline constexpr PanelLayout mxfp4_layout{4, 1, 1, 0};

}  // namespace troupe::cpu
