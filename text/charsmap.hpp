// Sentencepiece's precompiled character map: a double array that finds prefixes of a text, and
// what each is replaced by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace troupe::text {

/// Immutable. Every index is checked: a damaged map gives other replacements, never a wild read.
class Charsmap {
 public:
  Charsmap() = default;
  /// Of an empty string: a map that replaces nothing. corrupt: lengths that do not fit.
  static Result<Charsmap> make(std::string_view blob);

  struct Found {
    size_t bytes = 0;  ///< of the prefix; 0: none
    std::string_view replacement;
  };
  /// The longest prefix of `text` that is in the map, as sentencepiece takes it.
  [[nodiscard]] Found longest(std::string_view text) const;
  /// The shortest one, as Hugging Face takes it.
  [[nodiscard]] Found shortest(std::string_view text) const;

  [[nodiscard]] bool empty() const { return units_.empty(); }

 private:
  [[nodiscard]] Found find(std::string_view text, bool first) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  ///< each ends with a zero byte
};

}  // namespace troupe::text
