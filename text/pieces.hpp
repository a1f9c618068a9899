// Text on its way through the pre-tokenizer: a buffer and the pieces that are left of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::text {

/// Bytes [begin, end) of the buffer, never empty. 32 bits hold any text that encode() takes.
struct Piece {
  uint32_t begin;
  uint32_t end;
};

/// Cuts `text` (valid UTF-8, which lies at `base` in the buffer) and appends the pieces in order;
/// together they are the whole text. Linear in the text.
using SplitFunction = void (*)(std::string_view text, uint32_t base, std::vector<Piece>& pieces);

inline void add_piece(std::vector<Piece>& pieces, uint32_t base, size_t begin, size_t end) {
  if (begin < end) {
    pieces.push_back({base + static_cast<uint32_t>(begin), base + static_cast<uint32_t>(end)});
  }
}

}  // namespace troupe::text
