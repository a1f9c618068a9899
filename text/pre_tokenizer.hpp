// Pre-tokenizers cut text into words; merging never crosses a cut. One file per family
// (pre_tokenizer_<family>.cpp); a new family is a file and a line in pre_tokenizer.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::text {

/// Appends the end offset of every word of `text` (valid UTF-8) to `ends`: strictly increasing,
/// the last one text.size(). Linear in the text. Empty text has no words.
using SplitFunction = void (*)(std::string_view text, std::vector<size_t>& ends);

/// By GGUF's name (tokenizer.ggml.pre); null if there is none of that name.
SplitFunction find_pre_tokenizer(std::string_view name);

/// All names, sorted and separated by ", ", for messages.
std::string pre_tokenizer_names();

}  // namespace troupe::text
