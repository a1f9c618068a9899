// One byte of properties per character: what the splitters ask, in one look-up.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe::text {

namespace char_class {
inline constexpr uint8_t upper = 1;     ///< Lu, Lt
inline constexpr uint8_t lower = 2;     ///< Ll
inline constexpr uint8_t caseless = 4;  ///< Lm, Lo
inline constexpr uint8_t mark = 8;
inline constexpr uint8_t number = 16;
inline constexpr uint8_t space = 32;  ///< the property White_Space
inline constexpr uint8_t punctuation = 64;
inline constexpr uint8_t symbol = 128;
inline constexpr uint8_t letter = upper | lower | caseless;
}  // namespace char_class

constexpr bool is_line_break(uint8_t byte) {
  return byte == '\n' || byte == '\r';
}

/// Two stages: a page of 256 characters, equal pages stored once (about 40 KB).
class ClassTable {
 public:
  static const ClassTable& get();

  [[nodiscard]] uint8_t of(uint32_t code_point) const {
    return bits_[size_t{page_[code_point >> 8]} * 256 + (code_point & 0xff)];
  }
  [[nodiscard]] uint8_t of_ascii(uint8_t byte) const { return bits_[byte]; }

 private:
  ClassTable();
  std::array<uint16_t, 0x1100> page_{};
  std::vector<uint8_t> bits_;  ///< page 0 is the first
};

struct ClassedChar {
  uint8_t bits = 0;  ///< 0 also beyond the end
  uint8_t bytes = 0;
};

/// Walks valid UTF-8 by classes.
class ClassReader {
 public:
  explicit ClassReader(std::string_view text)
      : text_(reinterpret_cast<const uint8_t*>(text.data())),
        size_(text.size()),
        table_(ClassTable::get()) {}

  [[nodiscard]] ClassedChar at(size_t i) const {
    if (i >= size_) return {};
    const uint8_t first = text_[i];
    if (first < 0x80) return {table_.of_ascii(first), 1};
    return beyond_ascii(i);
  }
  /// The byte at i, 0 beyond the end.
  [[nodiscard]] uint8_t byte(size_t i) const { return i < size_ ? text_[i] : 0; }
  [[nodiscard]] size_t size() const { return size_; }

  /// End of the run of characters from i that have one of `wanted`.
  [[nodiscard]] size_t run(size_t i, uint8_t wanted) const {
    for (ClassedChar c = at(i); (c.bits & wanted) != 0; c = at(i)) i += c.bytes;
    return i;
  }
  /// End of the run of characters from i that have none of `unwanted`.
  [[nodiscard]] size_t run_without(size_t i, uint8_t unwanted) const {
    for (ClassedChar c = at(i); c.bytes != 0 && (c.bits & unwanted) == 0; c = at(i)) i += c.bytes;
    return i;
  }

 private:
  [[nodiscard]] ClassedChar beyond_ascii(size_t i) const;

  const uint8_t* text_;
  size_t size_;
  const ClassTable& table_;
};

/// The character at text[at] of valid UTF-8.
struct DecodedChar {
  uint32_t code_point;
  uint8_t bytes;
};
inline DecodedChar decode_valid(const uint8_t* at) {
  const auto more = [&](int i) { return static_cast<uint32_t>(at[i]) & 0x3fu; };
  const uint32_t first = at[0];
  if (first < 0x80) return {first, 1};
  if (first < 0xe0) return {(first & 0x1fu) << 6 | more(1), 2};
  if (first < 0xf0) return {(first & 0x0fu) << 12 | more(1) << 6 | more(2), 3};
  return {(first & 0x07u) << 18 | more(1) << 12 | more(2) << 6 | more(3), 4};
}

}  // namespace troupe::text
