// GPT-2's byte-level alphabet: every byte is spelt as one printable character.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::text {

/// The character that stands for a byte: the byte's own where Latin-1 prints it, else U+0100 and up
/// in order.
uint32_t byte_to_character(uint8_t byte);

/// Bytes spelt by `spelling`; empty if a character is not of the alphabet.
std::optional<std::string> spelling_to_bytes(std::string_view spelling);

std::string bytes_to_spelling(std::string_view bytes);

}  // namespace troupe::text
