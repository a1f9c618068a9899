#include "text/byte_alphabet.hpp"

#include <array>

#include "text/utf8.hpp"

namespace troupe::text {

namespace {

constexpr bool prints_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr int characters = 0x100 + 68;  // 68 bytes do not print themselves

struct Alphabet {
  std::array<uint16_t, 256> character{};
  std::array<int16_t, characters> byte{};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  alphabet.byte.fill(-1);
  uint16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint16_t character = prints_itself(byte) ? static_cast<uint16_t>(byte) : next++;
    alphabet.character[byte] = character;
    alphabet.byte[character] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet alphabet = make_alphabet();

}  // namespace

uint32_t byte_to_character(uint8_t byte) {
  return alphabet.character[byte];
}

std::optional<std::string> spelling_to_bytes(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  for (size_t at = 0; at < spelling.size();) {
    const Utf8Step step = utf8_step(spelling, at);
    if (!step.valid || step.code_point >= characters || alphabet.byte[step.code_point] < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(alphabet.byte[step.code_point]));
    at += step.bytes;
  }
  return bytes;
}

std::string bytes_to_spelling(std::string_view bytes) {
  std::string spelling;
  for (const char byte : bytes)
    append_utf8(spelling, byte_to_character(static_cast<uint8_t>(byte)));
  return spelling;
}

}  // namespace troupe::text
