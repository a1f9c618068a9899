// The pre-tokenizer of a tokenizer: steps that cut text into the words that the model sees.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "text/pieces.hpp"
#include "text/regex.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// Buffers of one thread at a time.
struct PreScratch {
  std::vector<Piece> next;
  std::vector<RegexMatch> matches;
  std::string text;
  RegexScratch regex;
};

/// Immutable.
class PreTokenizer {
 public:
  PreTokenizer() = default;
  /// invalid_argument: a pattern that is no regular expression; exhausted: too many steps.
  static Result<PreTokenizer> make(const std::vector<PreStep>& steps);

  /// Cuts `text` (valid UTF-8), which steps may also rewrite, into `pieces`. `first`: the text is
  /// the beginning of what is encoded. Linear in the text, or exhausted.
  Status run(std::string& text, std::vector<Piece>& pieces, PreScratch& scratch, bool first) const;

  /// The pieces are spelt in the byte-level alphabet.
  [[nodiscard]] bool maps_bytes() const { return maps_bytes_; }

 private:
  struct Step {
    PreStep spec;
    SplitFunction split = nullptr;  ///< stands for the whole step
    std::optional<Regex> regex;
  };
  Status apply(const Step& step, std::string& text, std::vector<Piece>& pieces, PreScratch& scratch,
               bool first) const;

  std::vector<Step> steps_;
  bool maps_bytes_ = false;
};

}  // namespace troupe::text
