#include "tests/check/arguments.hpp"

#include <algorithm>

namespace troupe::check {

std::optional<Arguments> read_arguments(std::span<char*> words,
                                        std::span<const std::string_view> kinds) {
  Arguments to;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i];
    const bool has_value = i + 1 < words.size();
    if (word == "--json") {
      to.json = true;
    } else if (word == "--assets" && has_value) {
      to.assets = words[++i];
    } else if (word == "--weights" && has_value) {
      to.weights = words[++i];
    } else if (word == "--compute" && has_value) {
      to.compute = words[++i];
    } else if (word.starts_with("--")) {
      return std::nullopt;
    } else if (to.kind.empty()) {
      to.kind = word;
    } else if (to.path.empty()) {
      to.path = word;
    } else {
      return std::nullopt;
    }
  }
  const bool known = std::ranges::find(kinds, to.kind) != kinds.end();
  if (!known || to.path.empty() || (to.compute != "exact" && to.compute != "fast")) {
    return std::nullopt;
  }
  return to;
}

}  // namespace troupe::check
