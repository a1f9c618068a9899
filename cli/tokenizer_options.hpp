// What the commands that look inside of tokenizers and templates share.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::cli {

struct OpenedTokenizer {
  text::TokenizerSpec spec;
  std::shared_ptr<const text::Tokenizer> tokenizer;
};

/// `path`: as text::read_tokenizer_file takes it.
Result<OpenedTokenizer> open_tokenizer(const std::string& path);

/// A file's content; "-" is standard input. not_found, exhausted (above the prompt's limit).
Result<std::string> read_input(const std::string& path);

/// "auto" (a terminal, and NO_COLOR is not set), "always" or "never".
bool wants_color(const std::string& choice);

}  // namespace troupe::cli
