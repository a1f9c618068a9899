// Unigram: the segmentation of a text whose pieces' scores have the highest sum.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/token_trie.hpp"
#include "text/tokenizer_spec.hpp"

namespace troupe::text {

/// Buffers of one thread at a time.
struct UnigramScratch {
  struct Node {
    double score;
    int32_t id;
    int32_t begin;  ///< of the best piece that ends here; -1: none yet
  };
  struct Step {
    int32_t id;
    size_t begin;
    size_t end;
  };
  std::vector<Node> nodes;
  std::vector<Step> path;  ///< from the end
};

/// Immutable.
class UnigramModel {
 public:
  UnigramModel() = default;
  /// The spec was checked: one score per token.
  explicit UnigramModel(const TokenizerSpec& spec);

  /// The unknown id where no piece fits.
  using Segment = UnigramScratch::Step;
  /// Linear in the text (valid UTF-8) times the longest piece; ties take the piece that begins
  /// first. Unknown characters in a row are one segment.
  void segment(std::string_view text, UnigramScratch& scratch,
               std::vector<Segment>& segments) const;

 private:
  TokenTrie pieces_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  int32_t unknown_id_ = -1;
  bool in_doubles_ = false;  ///< Hugging Face adds doubles, sentencepiece floats
};

}  // namespace troupe::text
