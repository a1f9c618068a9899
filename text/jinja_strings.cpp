#include "text/jinja_strings.hpp"

#include <algorithm>

#include "text/jinja_operations.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

/// The character that ends at `end`.
std::string_view last_character(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xc0) == 0x80) --begin;
  return text.substr(begin, end - begin);
}

bool is_line_end(uint32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

std::string strip(std::string_view text, std::optional<std::string_view> chars, bool left,
                  bool right) {
  const auto drops = [&](std::string_view character) {
    if (chars) return find_text(*chars, character) != std::string_view::npos;
    return is_python_space(utf8_step(character, 0).code_point);
  };
  size_t begin = 0;
  size_t end = text.size();
  while (left && begin < end) {
    const std::string_view character = text.substr(begin, utf8_step(text, begin).bytes);
    if (!drops(character)) break;
    begin += character.size();
  }
  while (right && end > begin) {
    const std::string_view character = last_character(text, end);
    if (!drops(character)) break;
    end -= character.size();
  }
  return std::string(text.substr(begin, end - begin));
}

size_t find_last(std::string_view text, std::string_view needle) {
  return text.rfind(needle);
}

std::vector<std::string> split(std::string_view text, std::string_view separator, int64_t most,
                               bool from_right) {
  std::vector<size_t> cuts;
  if (from_right && most >= 0) {
    size_t end = text.size();
    while (static_cast<int64_t>(cuts.size()) < most) {
      const size_t at = text.substr(0, end).rfind(separator);
      if (at == std::string_view::npos) break;
      cuts.push_back(at);
      end = at;
    }
    std::reverse(cuts.begin(), cuts.end());
  } else {
    for (size_t at = find_text(text, separator);
         at != std::string_view::npos && (most < 0 || static_cast<int64_t>(cuts.size()) < most);
         at = find_text(text, separator, at + separator.size())) {
      cuts.push_back(at);
    }
  }
  std::vector<std::string> parts;
  size_t begin = 0;
  for (const size_t cut : cuts) {
    parts.emplace_back(text.substr(begin, cut - begin));
    begin = cut + separator.size();
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::vector<std::string> split_spaces(std::string_view text, int64_t most, bool from_right) {
  std::vector<std::pair<size_t, size_t>> words;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    const bool space = is_python_space(step.code_point);
    if (!space && !inside) words.emplace_back(at, at);
    inside = !space;
    at += step.bytes;
    if (inside) words.back().second = at;
  }
  std::vector<std::string> parts;
  const size_t count = words.size();
  const size_t cuts = most < 0 ? count : std::min(count, static_cast<size_t>(most));
  if (cuts < count && from_right) {
    const size_t kept = count - cuts;
    parts.emplace_back(text.substr(0, words[kept - 1].second));
    words.erase(words.begin(), words.begin() + static_cast<ptrdiff_t>(kept));
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const bool rest = !from_right && i == cuts;
    const size_t end = rest ? text.size() : words[i].second;
    parts.emplace_back(text.substr(words[i].first, end - words[i].first));
    if (rest) break;
  }
  return parts;
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    const size_t end = at;
    at += step.bytes;
    if (!is_line_end(step.code_point)) continue;
    if (step.code_point == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.emplace_back(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.emplace_back(text.substr(begin));
  return lines;
}

std::string replace_text(Budget& budget, std::string_view text, std::string_view old_text,
                         std::string_view new_text, int64_t most) {
  std::string out;
  size_t begin = 0;
  for (int64_t done = 0; most < 0 || done < most; ++done) {
    const size_t at = find_text(text, old_text, begin);
    if (at == std::string_view::npos) break;
    budget.allocate(at - begin + new_text.size());
    out.append(text.substr(begin, at - begin));
    out += new_text;
    begin = at + old_text.size();
    if (!old_text.empty()) continue;
    // An empty text is found before every character and at the end.
    if (at == text.size()) return out;
    const size_t bytes = utf8_step(text, at).bytes;
    out.append(text.substr(at, bytes));
    begin = at + bytes;
  }
  out.append(text.substr(begin));
  return out;
}

int64_t count_text(std::string_view text, std::string_view needle) {
  if (needle.empty()) return static_cast<int64_t>(utf8_length(text)) + 1;
  int64_t count = 0;
  for (size_t at = find_text(text, needle); at != std::string_view::npos;
       at = find_text(text, needle, at + needle.size())) {
    ++count;
  }
  return count;
}

std::string pad(Budget& budget, std::string_view text, int64_t width, std::string_view fill,
                int side) {
  const int64_t missing = width - static_cast<int64_t>(utf8_length(text));
  if (missing <= 0) return std::string(text);
  if (missing > static_cast<int64_t>(limits::prompt_bytes_max)) {
    throw Failure{Code::exhausted,
                  concat("a text is to be filled to ", width, " characters, more than ",
                         limits::prompt_bytes_max),
                  0};
  }
  budget.allocate(static_cast<size_t>(missing) * fill.size() + text.size());
  // Python puts the odd one of a centred text to the left if the width is odd.
  const int64_t left = side < 0 ? 0 : side > 0 ? missing : missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += text;
  for (int64_t i = left; i < missing; ++i) out += fill;
  return out;
}

std::string title_words(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    constexpr std::string_view marks = "-({[<";
    const auto splits = [&](size_t i) {
      const Utf8Step step = utf8_step(text, i);
      return is_python_space(step.code_point) || marks.find(text[i]) != std::string_view::npos;
    };
    const size_t begin = at;
    const bool gap = splits(at);
    while (at < text.size() && splits(at) == gap) at += utf8_step(text, at).bytes;
    const std::string_view word = text.substr(begin, at - begin);
    const size_t first = utf8_step(word, 0).bytes;
    out += upper(word.substr(0, first));
    out += lower(word.substr(first));
  }
  return out;
}

}  // namespace troupe::text::jinja
