// Mistral's tekken.json: bytes with ranks, and a pattern.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// Errors: corrupt (not of this form; says where), exhausted (too large).
Result<TokenizerSpec> read_tekken(std::string_view json);

}  // namespace troupe::text
