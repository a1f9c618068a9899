// The normaliser of a tokenizer: steps that rewrite text before it is cut into words.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/charsmap.hpp"
#include "text/regex.hpp"
#include "text/token_trie.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// Immutable.
class Normalizer {
 public:
  Normalizer() = default;
  /// `kept`: strings that sentence_piece steps leave as they are (user-defined tokens).
  /// Errors: those of Regex and Charsmap; exhausted: too many steps.
  static Result<Normalizer> make(const std::vector<NormalStep>& steps,
                                 const std::vector<std::string>& kept = {});

  /// Rewrites `text` (valid UTF-8; stays so). exhausted: a step makes it longer than
  /// limits::normal_bytes_max, or a pattern takes too many steps.
  Status run(std::string& text, RegexScratch& scratch) const;

  [[nodiscard]] bool empty() const { return steps_.empty(); }

 private:
  struct Step {
    NormalStep spec;
    std::optional<Regex> regex;
    Charsmap charsmap;
  };
  Status apply(const Step& step, std::string& text, RegexScratch& scratch) const;
  [[nodiscard]] std::string sentence_piece(const Step& step, std::string_view text) const;

  std::vector<Step> steps_;
  TokenTrie kept_;
  bool keeps_ = false;
};

}  // namespace troupe::text
