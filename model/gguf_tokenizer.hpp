// Tokenizer data and chat template from GGUF metadata (tokenizer.*).
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "model/gguf.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::model {

/// A file without a tokenizer gives a spec without tokens. Otherwise there are exactly
/// `vocab_size` tokens and every id that is named lies among them.
/// Errors: unsupported (a tokenizer other than byte-level BPE, which GGUF calls "gpt2"), corrupt.
Result<text::TokenizerSpec> read_tokenizer(const GgufFile& file, uint32_t vocab_size);

}  // namespace troupe::model
