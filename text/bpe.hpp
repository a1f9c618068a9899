// Byte-pair merging: a word's symbols are joined pair by pair, lowest rank first, leftmost first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace troupe::text {

/// What a pair of adjacent symbols becomes.
struct Merge {
  int32_t left;
  int32_t right;
  int32_t result;
};

/// The merges of a vocabulary: rank = index. Immutable after construction.
class MergeTable {
 public:
  struct Found {
    uint32_t rank = no_rank;
    int32_t result = -1;
  };
  static constexpr uint32_t no_rank = UINT32_MAX;

  MergeTable() = default;
  /// A pair that is listed twice keeps its first rank.
  explicit MergeTable(const std::vector<Merge>& merges);

  [[nodiscard]] Found find(int32_t left, int32_t right) const;

 private:
  struct Slot {
    int32_t left = -1;
    int32_t right = -1;
    uint32_t rank = no_rank;
    int32_t result = -1;
  };
  [[nodiscard]] size_t slot_of(int32_t left, int32_t right) const;

  std::vector<Slot> slots_;  ///< open addressing, a power of two, at most half full
};

/// Merges one word; O(n log n) in its bytes. `byte_ids` gives each byte's first symbol (-1: the
/// vocabulary has none, the byte is left out). Keeps its buffers between words; one per thread.
class BpeMerger {
 public:
  BpeMerger(const MergeTable& merges, const std::array<int32_t, 256>& byte_ids)
      : merges_(merges), byte_ids_(byte_ids) {}

  void append_word(std::string_view word, std::vector<int32_t>& ids);

 private:
  struct Symbol {
    int32_t id;  ///< -1: merged into its left neighbour
    int32_t previous;
    int32_t next;
  };
  struct Candidate {
    uint32_t rank;
    int32_t position;  ///< of the left symbol
    int32_t left;      ///< ids when it was pushed: other ids there now mean it is stale
    int32_t right;
    int32_t result;
  };
  void push(int32_t position);
  void join(const Candidate& best);

  const MergeTable& merges_;
  const std::array<int32_t, 256>& byte_ids_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace troupe::text
