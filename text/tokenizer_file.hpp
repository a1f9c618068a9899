// A tokenizer from whatever file holds it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

enum class TokenizerFile : uint8_t { gguf, tokenizer_json, sentence_piece, tekken };

/// Read a GGUF file's metadata: this folder knows no model files. Pass
/// {model::read_vocabulary_file, model::read_vocabulary}.
struct GgufReaders {
  std::function<Result<TokenizerSpec>(const std::string& path)> file;
  std::function<Result<TokenizerSpec>(std::span<const std::byte>)> bytes;
};

struct LoadedTokenizer {
  TokenizerSpec spec;
  TokenizerFile kind = TokenizerFile::gguf;
};

/// The bytes of a file that holds a tokenizer, unpacked if it is packed with xz.
Result<std::string> read_unpacked(const std::string& path);

/// `path`: a GGUF file, tokenizer.json, tekken.json or sentencepiece .model, packed with xz or not,
/// told apart by what they hold; or a folder with one of them. tokenizer_config.json,
/// chat_template.jinja and the ends that generation_config.json names are read where they lie
/// beside it (not beside a GGUF file, which has its own). Errors: not_found, and those of the
/// reader, with the path.
Result<LoadedTokenizer> read_tokenizer_file(const std::string& path, const GgufReaders& gguf);

}  // namespace troupe::text
