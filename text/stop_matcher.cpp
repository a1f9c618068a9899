#include "text/stop_matcher.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "text/text_limits.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

Status check_stop_strings(const std::vector<std::string>& stops) {
  if (stops.size() > limits::stop_strings_max) {
    return error(Code::invalid_argument, concat("there are ", stops.size(), " stop strings"),
                 concat("at most ", limits::stop_strings_max));
  }
  for (size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty()) {
      return error(Code::invalid_argument, concat("stop string ", i, " is empty"), "leave it out");
    }
    if (stops[i].size() > limits::stop_string_bytes_max) {
      return error(Code::invalid_argument,
                   concat("stop string ", i, " has ", stops[i].size(), " bytes"),
                   concat("at most ", limits::stop_string_bytes_max));
    }
    TROUPE_TRY(check_utf8(stops[i], concat("stop string ", i)));
  }
  return {};
}

namespace {

std::vector<size_t> fallbacks(std::string_view text) {
  std::vector<size_t> fallback(text.size() + 1, 0);
  for (size_t i = 1, matched = 0; i < text.size(); ++i) {
    while (matched > 0 && text[i] != text[matched]) matched = fallback[matched];
    if (text[i] == text[matched]) ++matched;
    fallback[i + 1] = matched;
  }
  return fallback;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  for (std::string& stop : stops) {
    std::vector<size_t> fallback = fallbacks(stop);
    patterns_.push_back({std::move(stop), std::move(fallback), 0});
  }
}

StopMatcher::Output StopMatcher::push(std::string_view text) {
  if (stopped_) return {{}, true};
  for (const char byte : text) {
    held_.push_back(byte);
    size_t longest = 0;
    for (size_t i = 0; i < patterns_.size(); ++i) {
      Pattern& pattern = patterns_[i];
      if (pattern.text.empty()) continue;
      while (pattern.matched > 0 && pattern.text[pattern.matched] != byte) {
        pattern.matched = pattern.fallback[pattern.matched];
      }
      if (pattern.text[pattern.matched] == byte) ++pattern.matched;
      if (pattern.matched == pattern.text.size() && pattern.matched > longest) {
        longest = pattern.matched;
        found_ = static_cast<int>(i);
      }
    }
    if (longest == 0) continue;
    stopped_ = true;
    held_.resize(held_.size() - longest);
    return {std::exchange(held_, {}), true};
  }
  size_t keep = 0;
  for (const Pattern& pattern : patterns_) keep = std::max(keep, pattern.matched);
  Output out{held_.substr(0, held_.size() - keep), false};
  held_.erase(0, held_.size() - keep);
  return out;
}

std::string StopMatcher::flush() {
  return std::exchange(held_, {});
}

}  // namespace troupe::text
