// Tokenizer data and chat template from GGUF metadata (tokenizer.*).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"
#include "model/gguf.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::model {

/// A file without a tokenizer gives a spec without tokens. Otherwise there are exactly
/// `vocab_size` tokens and every id that is named lies among them. GGUF's tokenizer models gpt2
/// (byte-level BPE), llama (sentencepiece BPE), gemma4 (BPE over characters), t5 (Unigram) and
/// bert (WordPiece) are read.
/// Errors: unsupported (another tokenizer model), corrupt.
Result<text::TokenizerSpec> read_tokenizer(const GgufFile& file, uint32_t vocab_size);

/// The tokenizer of a file that may hold nothing else (a vocabulary). `bytes`: as
/// GgufFile::parse. Errors: also not_found, when there is no tokenizer.
Result<text::TokenizerSpec> read_vocabulary(std::span<const std::byte> bytes);

/// The same of a file, which is mapped.
Result<text::TokenizerSpec> read_vocabulary_file(const std::string& path);

}  // namespace troupe::model
