// The ids of long stretches of text that were encoded before: a conversation comes back with every
// turn. Any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/sha256.hpp"

namespace troupe::text {

class SectionMemo {
 public:
  /// Keeps the newest sections, of at most `ids_max` ids together.
  explicit SectionMemo(size_t ids_max) : ids_max_(ids_max) {}

  /// `kind` tells apart ways to encode the same text, `scope` who may know of one another. A
  /// tokenizer asks for sections of at least limits::memo_bytes_min bytes.
  static Digest key(std::string_view section, uint64_t kind, std::string_view scope = {});
  /// Appends what was kept; false: nothing was.
  bool append(const Digest& key, std::vector<int32_t>& ids);
  void keep(const Digest& key, std::vector<int32_t> ids);

 private:
  struct Entry {
    Digest key;
    std::vector<int32_t> ids;
  };

  const size_t ids_max_;
  std::mutex mutex_;
  std::list<Entry> entries_;  ///< the newest first
  std::map<Digest, std::list<Entry>::iterator> by_key_;
  size_t num_ids_ = 0;
};

}  // namespace troupe::text
