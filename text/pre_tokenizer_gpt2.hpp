// The GPT-2 family of pre-tokenizers.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace troupe::text {

/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
void split_gpt2(std::string_view text, std::vector<size_t>& ends);

/// Every \p{N} is a word of its own; what lies between is cut by split_gpt2 as separate texts.
void split_digits_gpt2(std::string_view text, std::vector<size_t>& ends);

}  // namespace troupe::text
