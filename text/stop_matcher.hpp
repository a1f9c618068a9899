// Finds stop strings in text that arrives in pieces, and holds back what may begin one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace troupe::text {

/// invalid_argument: too many, too long, empty, or not UTF-8 (limits::stop_string...).
Status check_stop_strings(const std::vector<std::string>& stops);

/// The match that ends first wins; of those that end together, the longest.
class StopMatcher {
 public:
  /// `stops` must have passed check_stop_strings; empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  struct Output {
    std::string text;      ///< safe to emit: no stop string can still begin inside it
    bool stopped = false;  ///< a stop string was found; it and what follows it is dropped
  };

  /// After `stopped` every further push gives nothing.
  Output push(std::string_view text);

  /// What was held back, when the text ends without a stop string.
  std::string flush();

  [[nodiscard]] bool stopped() const { return stopped_; }
  /// Index into the stop strings of the one found, -1 if none.
  [[nodiscard]] int found() const { return found_; }

 private:
  struct Pattern {
    std::string text;
    std::vector<size_t> fallback;  ///< of a mismatch after i bytes (Knuth, Morris, Pratt)
    size_t matched = 0;
  };

  std::vector<Pattern> patterns_;
  std::string held_;
  bool stopped_ = false;
  int found_ = -1;
};

}  // namespace troupe::text
