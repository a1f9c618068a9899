#include "launch/nearest.hpp"

#include <algorithm>

#include "launch/limits.hpp"

namespace troupe::launch {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view text, const std::vector<std::string>& candidates) {
  if (text.empty() || text.size() > limits::name_length) return {};
  std::string best;
  size_t best_distance = text.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(text, candidate);
    const bool is_shortened = text.size() >= 3 && (candidate.starts_with(text));
    const size_t rank = is_shortened ? std::min<size_t>(distance, 1) : distance;
    if (rank < best_distance && (is_shortened || distance < candidate.size())) {
      best_distance = rank;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates) {
  const std::string best = nearest(text, candidates);
  return best.empty() ? std::string() : ", did you mean \"" + best + "\"?";
}

std::string list_of(const std::vector<std::string>& words, size_t shown) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i == shown) return out + " and " + std::to_string(words.size() - shown) + " more";
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, limits::quoted_text)) {
    out.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
  }
  return out + (text.size() > limits::quoted_text ? "…\"" : "\"");
}

}  // namespace troupe::launch
