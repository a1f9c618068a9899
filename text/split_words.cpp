#include "text/split_words.hpp"

#include <array>

#include "text/char_class.hpp"

namespace troupe::text {

namespace {

struct Entry {
  std::string_view pattern;
  SplitFunction split;
};

constexpr std::string_view gpt2_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view gpt2_words_short =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
constexpr std::string_view gpt2_words_grouped =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr std::array entries = {
    Entry{gpt2_words, split_gpt2},
    Entry{gpt2_words_short, split_gpt2},
    Entry{gpt2_words_grouped, split_gpt2},
    Entry{R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
          R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
          split_llama3},
    Entry{R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
          R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
          split_qwen2},
    Entry{R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
          R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
          split_qwen35},
    Entry{R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
          R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
          R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
          R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|)"
          R"(\s+(?!\S)|\s+)",
          split_gpt4o},
    Entry{R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
          R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
          R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
          split_tekken},
    Entry{"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
          R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|)"
          R"(\s+(?!\S)|\s+)",
          split_deepseek3},
    Entry{"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
          "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|"
          R"(\s+(?!\S)|\s+)",
          split_deepseek3},
    Entry{"[!\\\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
          R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|)"
          R"(\s+(?!\S)|\s+)",
          split_deepseek3},
    Entry{R"(\p{N}{1,3})", split_three_digits},
    Entry{R"(\p{N})", split_digits},
    Entry{R"(\p{N}+)", split_numbers},
    Entry{"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", split_cjk},
};

/// Isolates runs of numbers, cut into groups of at most `most`.
void isolate_numbers(std::string_view text, uint32_t base, std::vector<Piece>& pieces,
                     size_t most) {
  const ClassReader reader(text);
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    ClassedChar c = reader.at(i);
    if ((c.bits & char_class::number) == 0) {
      i += c.bytes;
      continue;
    }
    add_piece(pieces, base, begin, i);
    begin = i;
    for (size_t count = 0; count < most && (c.bits & char_class::number) != 0; ++count) {
      i += c.bytes;
      c = reader.at(i);
    }
    add_piece(pieces, base, begin, i);
    begin = i;
  }
  add_piece(pieces, base, begin, text.size());
}

}  // namespace

SplitFunction find_splitter(std::string_view pattern) {
  for (const Entry& entry : entries) {
    if (entry.pattern == pattern) return entry.split;
  }
  return nullptr;
}

std::vector<std::string_view> splitter_patterns() {
  std::vector<std::string_view> patterns;
  for (const Entry& entry : entries) patterns.push_back(entry.pattern);
  return patterns;
}

size_t space_end(const ClassReader& text, size_t i, bool lines) {
  size_t end = i;
  size_t last = i;
  size_t after_line = 0;
  for (ClassedChar c = text.at(i); (c.bits & char_class::space) != 0; c = text.at(end)) {
    if (is_line_break(text.byte(end))) after_line = end + 1;
    last = end;
    end += c.bytes;
  }
  if (lines && after_line > 0) return after_line;
  return end < text.size() && last > i ? last : end;
}

size_t contraction(const ClassReader& text, size_t i, bool any_case) {
  const auto letter = [&](size_t at) {
    const uint8_t byte = text.byte(at);
    return any_case && byte >= 'A' && byte <= 'Z' ? static_cast<uint8_t>(byte + 32) : byte;
  };
  switch (letter(i + 1)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return letter(i + 2) == 'e' ? 3 : 0;
    case 'l':
      return letter(i + 2) == 'l' ? 3 : 0;
    case 0xc5:  // U+017F is an s where case does not count
      return any_case && text.byte(i + 2) == 0xbf ? 3 : 0;
    default:
      return 0;
  }
}

void split_three_digits(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  isolate_numbers(text, base, pieces, 3);
}

void split_digits(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  isolate_numbers(text, base, pieces, 1);
}

void split_numbers(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  isolate_numbers(text, base, pieces, SIZE_MAX);
}

void split_cjk(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  size_t begin = 0;
  bool inside = false;
  for (size_t i = 0; i < text.size();) {
    DecodedChar c{bytes[i], 1};
    bool wanted = false;
    if (bytes[i] >= 0x80) {
      c = decode_valid(bytes + i);
      wanted = (c.code_point >= 0x4e00 && c.code_point <= 0x9fa5) ||
               (c.code_point >= 0x3040 && c.code_point <= 0x30ff);
    }
    if (wanted != inside) {
      add_piece(pieces, base, begin, i);
      begin = i;
      inside = wanted;
    }
    i += c.bytes;
  }
  add_piece(pieces, base, begin, text.size());
}

}  // namespace troupe::text
