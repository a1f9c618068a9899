// What one encode() works with. Kept by the tokenizer between calls, one for each thread inside.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "text/tokenizer.hpp"
#include "text/word_cache.hpp"

namespace troupe::text {

struct Tokenizer::Scratch {
  explicit Scratch(const MergeTable& merges) : merger(merges) {}

  std::string text;  ///< a section while it is normalised and cut
  std::string part;  ///< a part of it between added tokens
  std::vector<Piece> pieces;
  std::vector<int32_t> symbols;
  std::vector<UnigramModel::Segment> segments;
  PreScratch pre;
  UnigramScratch unigram;
  BpeMerger merger;
  WordCache cache;
};

struct Tokenizer::ScratchPool {
  std::unique_ptr<Scratch> take(const MergeTable& merges) {
    {
      const std::scoped_lock lock(mutex);
      if (!free.empty()) {
        std::unique_ptr<Scratch> taken = std::move(free.back());
        free.pop_back();
        return taken;
      }
    }
    return std::make_unique<Scratch>(merges);
  }

  void give_back(std::unique_ptr<Scratch> scratch, uint64_t lookups) {
    merge_lookups.fetch_add(lookups, std::memory_order_relaxed);
    const std::scoped_lock lock(mutex);
    constexpr size_t kept_max = 16;
    if (free.size() < kept_max) free.push_back(std::move(scratch));
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<Scratch>> free;
  std::atomic<uint64_t> merge_lookups{0};
};

}  // namespace troupe::text
