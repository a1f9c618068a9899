// What the files of the tokenizer's loader share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// invalid_argument "tokenizer: <what>".
Error bad_tokenizer(std::string what, std::string hint = {});

/// Shortened and repaired, so that a message never carries a megabyte or broken UTF-8.
std::string quoted_token(std::string_view text);

/// Special tokens, which are spelt as they are and not in an alphabet.
bool is_literal(TokenType type);

/// 0xab of "<0xAB>".
std::optional<uint8_t> byte_of_spelling(std::string_view spelling);

/// The bytes that a token stands for inside of a text.
std::string decoded_token(const DecodeRules& rules, std::string_view token, TokenType type);

}  // namespace troupe::text
