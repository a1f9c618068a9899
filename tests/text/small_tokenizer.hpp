// A vocabulary of all bytes, "hello" with its merges, and a few special tokens.
#pragma once

#include "text/byte_alphabet.hpp"
#include "text/tokenizer.hpp"

namespace troupe::text {

inline TokenizerSpec small_spec() {
  TokenizerSpec spec;
  spec.pre_tokenizer = "smollm";
  const auto add = [&](std::string token, TokenType type) {
    spec.tokens.push_back(std::move(token));
    spec.types.push_back(type);
    return static_cast<int32_t>(spec.tokens.size() - 1);
  };
  for (int byte = 0; byte < 256; ++byte) {
    add(bytes_to_spelling(std::string(1, static_cast<char>(byte))), TokenType::normal);
  }
  for (const char* token : {"he", "ll", "hell", "hello"}) add(token, TokenType::normal);
  spec.merges = {{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}};
  spec.bos_id = add("<|begin|>", TokenType::control);
  spec.add_bos = true;
  spec.eos_id = add("<|end|>", TokenType::control);
  spec.stop_ids = {spec.bos_id, spec.eos_id};
  add("<tool>", TokenType::user_defined);
  return spec;
}

}  // namespace troupe::text
