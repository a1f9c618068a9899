#include "text/jinja_wrap.hpp"

#include <algorithm>

#include "text/jinja_strings.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace troupe::text::jinja {

namespace {

bool is_wrap_space(uint32_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Characters first to last - 1 of the line.
struct Chunk {
  size_t first;
  size_t last;
};

/// A line as characters, with the questions that breaking it asks. Places may lie outside of it.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {
    for (size_t at = 0; at < text.size();) {
      const Utf8Step step = utf8_step(text, at);
      const size_t others = others_.empty() ? 0 : others_.back();
      others_.push_back(others + (step.code_point == '-' ? 0 : 1));
      characters_.push_back(step.code_point);
      offsets_.push_back(at);
      at += step.bytes;
    }
    offsets_.push_back(text.size());
  }

  [[nodiscard]] size_t size() const { return characters_.size(); }
  /// 0 outside of the line.
  [[nodiscard]] uint32_t at(size_t i) const { return i < size() ? characters_[i] : 0; }
  [[nodiscard]] bool space(size_t i) const { return i < size() && is_wrap_space(at(i)); }
  [[nodiscard]] bool word(size_t i) const { return i < size() && is_word_character(at(i)); }
  [[nodiscard]] bool letter(size_t i) const { return word(i) && category(at(i)) != Category::Nd; }
  /// What a dash may follow.
  [[nodiscard]] bool before_dash(size_t i) const {
    constexpr std::string_view signs = "!\"'&.,?";
    return word(i) || (i < size() && at(i) < 0x80 &&
                       signs.find(static_cast<char>(at(i))) != std::string_view::npos);
  }
  /// The end of two or more hyphens at `i` that a word follows; `i` if there are none.
  [[nodiscard]] size_t dash_end(size_t i) const {
    size_t end = i;
    while (at(end) == '-') ++end;
    return end - i >= 2 && word(end) ? end : i;
  }
  /// A hyphen at `i` between letters, where a word may be broken.
  [[nodiscard]] bool breaks_word(size_t i) const {
    if (at(i) != '-' || i < 2 || !letter(i - 1)) return false;
    const bool before = letter(i - 2) || (at(i - 2) == '-' && i >= 3 && letter(i - 3));
    if (!before || !letter(i + 1)) return false;
    return letter(i + 2) || (at(i + 2) == '-' && letter(i + 3));
  }
  /// Something else than hyphens stands between the two places.
  [[nodiscard]] bool has_other(size_t first, size_t last) const {
    if (first >= last) return false;
    return others_[last - 1] > (first == 0 ? 0 : others_[first - 1]);
  }
  [[nodiscard]] std::string_view bytes(Chunk chunk) const {
    return text_.substr(offsets_[chunk.first], offsets_[chunk.last] - offsets_[chunk.first]);
  }
  [[nodiscard]] bool blank(Chunk chunk) const {
    return strip(bytes(chunk), std::nullopt, true, true).empty();
  }

 private:
  std::string_view text_;
  std::vector<uint32_t> characters_;
  std::vector<size_t> offsets_;
  std::vector<size_t> others_;  ///< characters that are no hyphen, up to and with this one
};

size_t end_of_word(const Line& line, size_t begin, bool at_hyphens) {
  size_t end = begin + 1;
  while (end < line.size() && !line.space(end)) {
    if (at_hyphens && line.breaks_word(end)) return end + 1;
    if (at_hyphens && line.before_dash(end - 1) && line.dash_end(end) > end) return end;
    ++end;
  }
  return end;
}

/// White space, words and dashes in turn.
std::vector<Chunk> chunks_of(const Line& line, bool at_hyphens) {
  std::vector<Chunk> chunks;
  for (size_t begin = 0; begin < line.size();) {
    size_t end = begin;
    if (line.space(begin)) {
      while (line.space(end)) ++end;
    } else if (at_hyphens && begin > 0 && line.before_dash(begin - 1)) {
      end = line.dash_end(begin);
    }
    if (end == begin) end = end_of_word(line, begin, at_hyphens);
    chunks.push_back({begin, end});
    begin = end;
  }
  return chunks;
}

/// Where a word that is longer than a line is cut, with `room` characters left in the line.
size_t cut_of(const Line& line, Chunk word, size_t room, bool at_hyphens) {
  const size_t end = word.first + room;
  if (!at_hyphens) return end;
  for (size_t i = end; i > word.first + 1; --i) {
    if (line.at(i - 1) != '-') continue;
    return line.has_other(word.first, i - 1) ? i : end;
  }
  return end;
}

}  // namespace

bool is_word_character(uint32_t c) {
  return is_letter(category(c)) || is_numeric(c) || c == '_';
}

std::vector<std::string> wrap_line(std::string_view text, const WrapStyle& style) {
  const Line line(text);
  std::vector<Chunk> chunks = chunks_of(line, style.breaks_at_hyphens);
  const size_t width = static_cast<size_t>(style.width);
  std::vector<std::string> lines;
  for (size_t next = 0; next < chunks.size();) {
    if (!lines.empty() && line.blank(chunks[next])) ++next;
    std::vector<Chunk> current;
    size_t size = 0;
    const auto length = [&] { return chunks[next].last - chunks[next].first; };
    while (next < chunks.size() && size + length() <= width) {
      size += length();
      current.push_back(chunks[next++]);
    }
    if (next < chunks.size() && length() > width) {
      Chunk& word = chunks[next];
      if (style.breaks_long_words) {
        const size_t end = cut_of(line, word, width - size, style.breaks_at_hyphens);
        current.push_back({word.first, end});
        word.first = end;
      } else if (current.empty()) {
        current.push_back(chunks[next++]);
      }
    }
    if (!current.empty() && line.blank(current.back())) current.pop_back();
    if (current.empty()) continue;
    lines.emplace_back();
    for (const Chunk chunk : current) lines.back() += line.bytes(chunk);
  }
  return lines;
}

}  // namespace troupe::text::jinja
