// What a tokenizer is, independent of the file it came from. Plain data, filled by model/ readers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::text {

enum class TokenizerKind : uint8_t { byte_level_bpe };

/// Token types as GGUF numbers them (tokenizer.ggml.token_type).
enum class TokenType : uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

struct TokenizerSpec {
  TokenizerKind kind = TokenizerKind::byte_level_bpe;
  std::string pre_tokenizer;        ///< GGUF's name, e.g. "smollm"
  std::vector<std::string> tokens;  ///< id -> text in the file's spelling (byte-level alphabet)
  std::vector<TokenType> types;     ///< one per token
  std::vector<std::string> merges;  ///< "left right", rank = index
  int32_t bos_id = -1;              ///< -1: none
  int32_t eos_id = -1;
  int32_t unknown_id = -1;
  bool add_bos = false;
  bool add_eos = false;
  std::vector<int32_t> stop_ids;  ///< every id that ends a generation
  std::string chat_template;      ///< Jinja source; empty: the model has none
};

}  // namespace troupe::text
