// Hand-written splitters for the patterns that most models use. Each one is equal to its pattern
// (split_words.cpp lists them), which tests check against PCRE2.
#pragma once

#include <string_view>
#include <vector>

#include "text/pieces.hpp"

namespace troupe::text {

/// The splitter for a regular expression in exactly this spelling; null: there is none.
SplitFunction find_splitter(std::string_view pattern);

/// Every pattern that has a splitter.
std::vector<std::string_view> splitter_patterns();

/// White space from i on, as three patterns have it at their end: up to the last line break in it;
/// without one all but its last character (which the next word takes), or all at the end of text.
/// The tail of the patterns: \s*[\r\n]+|\s+(?!\S)|\s+
class ClassReader;
size_t space_end(const ClassReader& text, size_t i, bool lines);

/// Length of an English contraction ('s 't 're 've 'm 'll 'd) at i, 0 if there is none.
size_t contraction(const ClassReader& text, size_t i, bool any_case);

void split_gpt2(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
void split_llama3(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
void split_qwen2(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
void split_qwen35(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
void split_gpt4o(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
void split_tekken(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
void split_deepseek3(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
/// \p{N}{1,3}
void split_three_digits(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
/// \p{N}
void split_digits(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
/// \p{N}+
void split_numbers(std::string_view text, uint32_t base, std::vector<Piece>& pieces);
/// The ideographs and kana of DeepSeek V3's pattern.
void split_cjk(std::string_view text, uint32_t base, std::vector<Piece>& pieces);

}  // namespace troupe::text
