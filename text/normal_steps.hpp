// The normaliser's steps that are plain functions of a text. All take and give valid UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "text/charsmap.hpp"
#include "text/regex.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// Full lower case, character by character (no final sigma), as Rust's char::to_lowercase.
std::string lowercase(std::string_view text);
/// Without combining marks: Mn, with `spacing_too` also Mc and Me.
std::string without_accents(std::string_view text, bool spacing_too);
/// Without white space at the ends.
std::string stripped(std::string_view text, bool left, bool right);
/// BERT's: `clean_text`, `isolate_han`, `strip_accents`, `lowercase` of the step, in this order.
std::string bert_normal(const NormalStep& step, std::string_view text);
/// Sentencepiece's NMT rules: control characters out, other spaces to spaces.
std::string nmt_normal(std::string_view text);
/// The map applied grapheme by grapheme: one of up to 5 bytes as a whole, else each character.
std::string hugging_face_charsmap(const Charsmap& map, std::string_view text,
                                  RegexScratch& scratch);

}  // namespace troupe::text
