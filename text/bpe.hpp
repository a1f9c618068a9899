// Byte-pair merging: a word's symbols are joined pair by pair, lowest rank first, leftmost first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::text {

/// What a pair of adjacent symbols becomes, and when: the lowest rank first.
struct Merge {
  int32_t left;
  int32_t right;
  int32_t result;
  uint32_t rank;
};

/// The merges of a vocabulary. Immutable after construction.
class MergeTable {
 public:
  struct Found {
    uint32_t rank = no_rank;
    int32_t result = -1;
  };
  static constexpr uint32_t no_rank = UINT32_MAX;

  MergeTable() = default;
  /// A pair that is listed twice keeps its first entry.
  explicit MergeTable(const std::vector<Merge>& merges);

  [[nodiscard]] Found find(int32_t left, int32_t right) const;

 private:
  struct Slot {
    uint64_t pair = UINT64_MAX;
    uint32_t rank = no_rank;
    int32_t result = -1;
  };
  [[nodiscard]] size_t slot_of(uint64_t pair) const;

  std::vector<Slot> slots_;  ///< open addressing, a power of two, at most half full
};

/// Merges words. Keeps its buffers between words; one per thread.
class BpeMerger {
 public:
  explicit BpeMerger(const MergeTable& merges) : merges_(merges) {}

  /// Appends what the symbols become; O(n log n) in their number.
  void merge(std::span<const int32_t> symbols, std::vector<int32_t>& ids);

  /// Look-ups in the table so far, which bound all other work: at most 3 for each symbol.
  [[nodiscard]] uint64_t lookups() const { return lookups_; }

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
  MergeTable::Found find(int32_t left, int32_t right);
  void merge_short(std::span<const int32_t> symbols, std::vector<int32_t>& ids);
  void merge_long(std::span<const int32_t> symbols, std::vector<int32_t>& ids);
  void push(int32_t position);
  void join(const Candidate& best);

  const MergeTable& merges_;
  uint64_t lookups_ = 0;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace troupe::text
