// Sentencepiece's .model files (a Protocol Buffers message): BPE and Unigram.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// Errors: corrupt (no such message), unsupported (a model type other than BPE and Unigram),
/// exhausted (too large).
Result<TokenizerSpec> read_sentence_piece(std::string_view model);

}  // namespace troupe::text
