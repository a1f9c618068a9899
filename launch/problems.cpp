#include "launch/problems.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "launch/limits.hpp"

namespace troupe::launch {

void Problems::add(Position at, std::string what) {
  // A file of garbage must not cost memory in proportion; the first ones are what helps.
  if (found_.size() < 1000) found_.push_back({at, std::move(what)});
}

Status Problems::status() const {
  if (found_.empty()) return {};
  std::vector<Problem> sorted = found_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem& a, const Problem& b) { return a.at < b.at; });
  std::string text;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i == limits::problems_shown) {
      text += concat("\nand ", sorted.size() - i, " more");
      break;
    }
    if (i > 0) text += "\n";
    text += prefix(file_name_, sorted[i].at) + sorted[i].what;
  }
  return error(Code::invalid_argument, text);
}

}  // namespace troupe::launch
