// The pre-tokenizers that GGUF files name (tokenizer.ggml.pre), as steps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// The words of GPT-2, which many pre-tokenizers end with.
std::string_view gpt2_pattern();

struct NamedPreTokenizer {
  std::string_view name;
  std::vector<std::string_view> patterns;  ///< each isolates its matches in what is left
  bool ignore_merges = false;
  bool nfc = false;  ///< the models' own tokenizers normalise first
};

/// Null if there is none of that name.
const NamedPreTokenizer* find_pre_tokenizer(std::string_view name);

std::vector<PreStep> steps_of(const NamedPreTokenizer& named);

/// All names, separated by ", ", for messages.
std::string pre_tokenizer_names();

}  // namespace troupe::text
