// The text of one choice while its tokens arrive: detokenizer, then stop strings. Its state is a
// function of the tokens alone, so a resumed request rebuilds it by pushing them again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "text/detokenizer.hpp"
#include "text/stop_matcher.hpp"

namespace troupe::text {

class OutputText {
 public:
  struct Options {
    std::vector<std::string> stops;  ///< passed check_stop_strings
    bool skip_special = true;
  };

  OutputText(std::shared_ptr<const Tokenizer> tokenizer, Options options);

  /// Whole characters that are safe to emit, and whether a stop string was found. The stop string
  /// is not emitted; what may be the start of one is held back.
  StopMatcher::Output push(int32_t token);

  /// The rest, when the generation ends for another reason than a stop string. A stop string can
  /// still be completed by a U+FFFD that is only now known.
  StopMatcher::Output flush();

  [[nodiscard]] bool stopped() const { return matcher_.stopped(); }

 private:
  Detokenizer detokenizer_;
  StopMatcher matcher_;
};

}  // namespace troupe::text
