// What followed when the newest tokens of a sequence occurred before, in anybody's text: an index
// over the documents (prompts, finished outputs) of many sequences. Groups never see one another:
// a group is a tenant's chain root, so what one tenant wrote is never proposed to another.
//
// A document is an array of tokens; two hash tables (over its 8-grams and 3-grams) lead to the
// newest place where an n-gram ended, and from each place to the one before, as in LZ77. A look-up
// follows such a chain and extends each match backwards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "engine/draft_limits.hpp"
#include "kv/block_name.hpp"

namespace troupe::engine {

struct SuffixMatch {
  uint32_t length = 0;        ///< newest context tokens that were found; 0: nothing
  std::vector<int32_t> next;  ///< what followed them
};

/// The documents of one group, oldest first. Internal to SuffixIndex.
class SuffixGroup {
 public:
  void append(std::span<const int32_t> tokens, uint64_t number);
  void drop_oldest();

  [[nodiscard]] SuffixMatch find(std::span<const int32_t> context, uint32_t count_max) const;
  /// How many leading tokens of `tokens` stand somewhere word for word (of few places looked at).
  [[nodiscard]] uint32_t known_prefix(std::span<const int32_t> tokens) const;

  [[nodiscard]] bool empty() const { return documents_.empty(); }
  [[nodiscard]] size_t num_documents() const { return documents_.size(); }
  [[nodiscard]] size_t num_tokens() const { return num_tokens_; }
  [[nodiscard]] uint64_t newest() const { return documents_.back().number; }
  [[nodiscard]] size_t bytes() const;

 private:
  static constexpr std::array<uint32_t, 2> anchors = {8, 3};

  /// A place is the end of an n-gram, counted through all documents; 0 is nowhere.
  using Place = uint32_t;
  struct Document {
    Place begin = 0;      ///< place before its first token
    uint64_t number = 0;  ///< of learn(): its age
    std::vector<int32_t> tokens;
    /// [anchor][i]: the place before in the chain that leads to token i.
    std::array<std::vector<Place>, 2> previous;
  };

  void link(Document& document);
  void rebuild(size_t num_slots);
  [[nodiscard]] Place& slot(size_t anchor, std::span<const int32_t> ngram);
  [[nodiscard]] Place newest_place(size_t anchor, std::span<const int32_t> ngram) const;
  /// The document of a place, or null when it was dropped.
  [[nodiscard]] const Document* locate(Place place) const;

  std::deque<Document> documents_;
  std::array<std::vector<Place>, 2> slots_;  ///< sizes are one power of two
  Place end_ = 0;                            ///< place after the last token
  size_t num_tokens_ = 0;
};

class SuffixIndex {
 public:
  /// Holds at most `bytes_max`; over it, the oldest document of the largest group goes first, so
  /// that a tenant that writes much pushes out its own.
  explicit SuffixIndex(size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Adds a document. Stretches that the group knows already are left out; of one that is too long
  /// for the index, the newest part is kept.
  void learn(const kv::BlockName& group, std::span<const int32_t> tokens);

  /// The longest match of the end of `context` that something followed, the newest of equals, and
  /// up to `count_max` tokens of what followed. Matches of fewer than 3 tokens are not found.
  [[nodiscard]] SuffixMatch find(const kv::BlockName& group, std::span<const int32_t> context,
                                 uint32_t count_max) const;

  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] size_t num_documents() const;
  [[nodiscard]] size_t num_tokens() const;
  [[nodiscard]] size_t num_groups() const { return groups_.size(); }

 private:
  void append(SuffixGroup& group, std::span<const int32_t> tokens);
  void make_room();
  void forget_silent_group();

  size_t bytes_max_;
  size_t bytes_ = 0;
  uint64_t last_number_ = 0;
  std::map<kv::BlockName, SuffixGroup> groups_;
};

}  // namespace troupe::engine
