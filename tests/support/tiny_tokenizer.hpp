// A small valid byte-level BPE tokenizer: 256 bytes, three control tokens, a few merges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

/// Ids in every tiny tokenizer: byte b is id b; then these, then the merged tokens.
inline constexpr int32_t tiny_endoftext = 256;  ///< <|endoftext|>, also bos
inline constexpr int32_t tiny_im_start = 257;   ///< <|im_start|>
inline constexpr int32_t tiny_im_end = 258;     ///< <|im_end|>, eos

inline constexpr const char* tiny_chat_template =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

struct TinyTokenizer {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<std::string> merges;
};

/// How the byte-level alphabet of GPT-2 spells a byte (UTF-8).
inline std::string byte_spelling(int byte) {
  const auto printable = [](int b) {
    return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
  };
  int code = byte;
  if (!printable(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += printable(b) ? 0 : 1;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

/// `vocab` tokens; at least 259. Merges fill what is left: " the" first, then pairs of letters,
/// then reserved tokens that no text gives.
inline TinyTokenizer make_tiny_tokenizer(uint32_t vocab) {
  TinyTokenizer t;
  for (int byte = 0; byte < 256; ++byte) t.tokens.push_back(byte_spelling(byte));
  t.types.assign(256, 1);
  for (const char* control : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    t.tokens.emplace_back(control);
    t.types.push_back(3);
  }
  const auto merge = [&](const std::string& left, const std::string& right) {
    if (t.tokens.size() >= vocab) return;
    t.merges.push_back(left + " " + right);
    t.tokens.push_back(left + right);
    t.types.push_back(1);
  };
  const std::string space = byte_spelling(' ');
  merge(space, "t");
  merge("h", "e");
  merge(space + "t", "he");
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) {
      if (a != 'h' || b != 'e') merge(std::string(1, a), std::string(1, b));
    }
  }
  while (t.tokens.size() < vocab) {
    t.tokens.push_back("<|reserved_" + std::to_string(t.tokens.size()) + "|>");
    t.types.push_back(5);
  }
  return t;
}

}  // namespace troupe::testing
