// What the fuzz targets of tokenizer files do with what was read.
#pragma once

#include <cstdlib>
#include <string_view>

#include "text/detokenizer.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace troupe::testing {

/// A spec is refused with a reason or gives a tokenizer whose ids decode.
inline void use_tokenizer(const Result<text::TokenizerSpec>& spec, std::string_view input) {
  if (!spec.ok()) {
    if (spec.error().what.empty() || spec.error().code == Code::internal) std::abort();
    return;
  }
  const auto made = text::Tokenizer::make(*spec);
  if (!made.ok()) {
    if (made.error().what.empty()) std::abort();
    return;
  }
  const text::Tokenizer& tokenizer = **made;
  constexpr size_t text_bytes_max = 512;
  const std::string text = text::replace_invalid_utf8(input.substr(0, text_bytes_max)) +
                           " Hello w\u00f6rld 12\n\u4f60\u597d e\u0301\u2581";
  for (const bool special : {false, true}) {
    const auto ids = tokenizer.encode(text, {.parse_special = special, .add_special = special});
    if (!ids.ok()) {
      if (ids.error().code != Code::exhausted) std::abort();
      continue;
    }
    const auto decoded = tokenizer.decode_text(*ids);
    if (!decoded.ok() || text::first_invalid_utf8(*decoded)) std::abort();
    text::Detokenizer stream(*made);
    for (const int32_t id : *ids) {
      if (text::first_invalid_utf8(stream.push(id))) std::abort();
    }
  }
}

}  // namespace troupe::testing
