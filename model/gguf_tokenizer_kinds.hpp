// What GGUF's tokenizer models mean: which metadata they have, and what goes without saying.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "model/gguf.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::model {

struct GgufTokenizerKind {
  std::string_view name;  ///< tokenizer.ggml.model
  bool has_merges = false;
  bool has_scores = false;
  bool has_pre_tokenizer = false;
  bool framed = false;  ///< CLS and SEP around a text
  bool add_bos = false;
  bool add_eos = false;
  int32_t bos_id = -1;  ///< where the file names none
  int32_t eos_id = -1;
  int32_t unknown_id = -1;
  /// Sets the kind, steps and rules of a spec that has its tokens.
  Status (*finish)(const GgufFile& file, text::TokenizerSpec& spec) = nullptr;
};

/// Null if there is none of that name.
const GgufTokenizerKind* find_tokenizer_kind(std::string_view name);

/// Pre-tokenizers whose models begin every prompt with BOS when the file does not say.
bool adds_bos_by_default(std::string_view pre_tokenizer);

}  // namespace troupe::model
