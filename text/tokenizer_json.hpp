// Hugging Face's tokenizer.json, and what tokenizer_config.json adds to it.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// `tokenizer_json`: the file's bytes. `config_json`: tokenizer_config.json's, empty if there is
/// none: bos_token, eos_token and chat_template are read from it.
/// Errors: corrupt (no JSON, or not of this form; says where), unsupported (a model, normaliser,
/// pre-tokenizer or decoder that this build lacks; the hint lists those it has), exhausted (too
/// large).
Result<TokenizerSpec> read_tokenizer_json(std::string_view tokenizer_json,
                                          std::string_view config_json = {});

}  // namespace troupe::text
