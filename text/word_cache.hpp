// Words that were encoded before, and their ids: short ones alone, in a table that forgets.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace troupe::text {

/// One per thread. What it returns is what was put in, so results do not depend on it.
class WordCache {
 public:
  static constexpr size_t word_bytes_max = 15;
  static constexpr size_t ids_max = 3;

  WordCache() : entries_(size_t{1} << entries_log2) {}

  /// 16 bytes that are the word and its length.
  struct Key {
    uint64_t low;
    uint64_t high;
  };
  /// `word` has at most word_bytes_max bytes and `readable` bytes may be read from its start.
  static Key key_of(std::string_view word, size_t readable) {
    Key key{0, 0};
    if (readable >= sizeof key) {
      std::memcpy(&key, word.data(), sizeof key);
      const unsigned bits = static_cast<unsigned>(word.size()) * 8;
      if (bits < 64) {
        key.low &= ~(~uint64_t{0} << bits);
        key.high = 0;
      } else {
        key.high &= ~(~uint64_t{0} << (bits - 64));
      }
    } else {
      std::memcpy(&key, word.data(), word.size());
    }
    key.high |= static_cast<uint64_t>(word.size()) << 56;
    return key;
  }

  /// Appends the ids of a word that is known; false: it is not.
  bool append(const Key& key, std::vector<int32_t>& ids) const {
    const Entry& entry = entries_[slot_of(key)];
    if (entry.low != key.low || entry.high != key.high) return false;
    ids.insert(ids.end(), entry.ids, entry.ids + entry.count);
    return true;
  }

  /// Remembers the last `count` of `ids` for the word; nothing if they are too many.
  void put(const Key& key, const std::vector<int32_t>& ids, size_t count) {
    if (count > ids_max) return;
    Entry& entry = entries_[slot_of(key)];
    entry.low = key.low;
    entry.high = key.high;
    entry.count = static_cast<uint32_t>(count);
    std::memcpy(entry.ids, ids.data() + ids.size() - count, count * sizeof(int32_t));
  }

 private:
  static constexpr int entries_log2 = 15;
  struct Entry {
    uint64_t low = 0;
    uint64_t high = 0;  ///< 0: free, for no word has no bytes
    int32_t ids[ids_max] = {};
    uint32_t count = 0;
  };
  static size_t slot_of(const Key& key) {
    const uint64_t mixed = (key.low ^ (key.high * 0xff51afd7ed558ccdu)) * 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(mixed >> (64 - entries_log2));
  }

  std::vector<Entry> entries_;  ///< 1 MB
};

}  // namespace troupe::text
