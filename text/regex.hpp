// Patterns of tokenizer files, run by PCRE2 within limits. They are written for Oniguruma (Ruby's
// syntax, Unicode classes); what means something else in PCRE2 is translated.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace troupe::text {

/// Bytes of a match in the text that was searched; may be empty.
struct RegexMatch {
  size_t begin;
  size_t end;
};

/// Buffers of one thread at a time.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

 private:
  friend class Regex;
  struct Data;
  std::unique_ptr<Data> data_;
};

/// A compiled pattern. Immutable, cheap to copy.
class Regex {
 public:
  /// invalid_argument with PCRE2's reason and place; exhausted: a pattern that is too long.
  static Result<Regex> make(std::string_view pattern);

  /// Appends all matches, left to right, without overlap. `text` is valid UTF-8. The work is
  /// bounded by limits::regex_steps_per_byte: exhausted when a pattern needs more.
  Status find_all(std::string_view text, RegexScratch& scratch,
                  std::vector<RegexMatch>& matches) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

/// The pattern in PCRE2's syntax.
std::string translate_pattern(std::string_view pattern);

}  // namespace troupe::text
