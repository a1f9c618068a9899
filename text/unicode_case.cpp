#include "text/unicode_case.hpp"

#include <algorithm>
#include <unordered_map>

#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

namespace {

constexpr uint32_t capital_sigma = 0x3a3;
constexpr uint32_t small_sigma = 0x3c3;
constexpr uint32_t final_sigma = 0x3c2;

using Specials = std::unordered_map<uint32_t, std::string>;

Specials read_specials(std::span<const uint32_t> data) {
  Specials specials;
  for (size_t i = 0; i + 1 < data.size(); i += 2 + data[i + 1]) {
    std::string& target = specials[data[i]];
    for (uint32_t k = 0; k < data[i + 1]; ++k) append_utf8(target, data[i + 2 + k]);
  }
  return specials;
}

bool in_ranges(std::span<const uint32_t> ranges, uint32_t c) {
  for (size_t i = 0; i < ranges.size(); i += 2) {
    if (c < ranges[i]) return false;
    if (c <= ranges[i + 1]) return true;
  }
  return false;
}

/// What stands between the letters of a word without being one of them.
bool is_case_ignorable(uint32_t c) {
  constexpr uint32_t inside[] = {0x27,   0x2e,   0x3a,   0xb7,   0x387,  0x55f,
                                 0x5f4,  0x2018, 0x2019, 0x2024, 0x2027, 0xfe13,
                                 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
  const Category k = category(c);
  return k == Category::Mn || k == Category::Me || k == Category::Cf || k == Category::Lm ||
         k == Category::Sk || std::ranges::find(inside, c) != std::end(inside);
}

void append_special(std::string& out, uint32_t c, const Specials& specials,
                    uint32_t (*simple)(uint32_t)) {
  if (c >= 0x80) {
    const auto found = specials.find(c);
    if (found != specials.end()) {
      out += found->second;
      return;
    }
  }
  append_utf8(out, simple(c));
}

void append_upper(std::string& out, uint32_t c) {
  static const Specials specials = read_specials(unicode_data::special_upper());
  append_special(out, c, specials, to_upper);
}

void append_title(std::string& out, uint32_t c) {
  static const Specials specials = read_specials(unicode_data::special_title());
  append_special(out, c, specials, to_upper);
}

/// Remembers whether a word is open, so that a sigma knows in constant time what stands before it.
class Lowering {
 public:
  explicit Lowering(std::string_view text) : text_(text) {}

  /// The lower case of `c`, which ends at `end`.
  void append_lower(std::string& out, uint32_t c, size_t end) {
    static const Specials specials = read_specials(unicode_data::special_lower());
    if (c == capital_sigma) {
      append_utf8(out, in_word_ && !word_goes_on(end) ? final_sigma : small_sigma);
    } else {
      append_special(out, c, specials, to_lower);
    }
    see(c);
  }

  /// Takes note of a character that is not lowered.
  void see(uint32_t c) {
    if (!is_case_ignorable(c)) in_word_ = is_cased(c);
  }

 private:
  bool word_goes_on(size_t at) {
    // What was skipped once is not skipped again: the whole text costs linear time.
    if (at < looked_to_) return goes_on_;
    while (at < text_.size()) {
      const Utf8Step step = utf8_step(text_, at);
      if (!is_case_ignorable(step.code_point)) {
        looked_to_ = at;
        goes_on_ = is_cased(step.code_point);
        return goes_on_;
      }
      at += step.bytes;
    }
    looked_to_ = text_.size();
    return goes_on_ = false;
  }

  std::string_view text_;
  bool in_word_ = false;
  size_t looked_to_ = 0;
  bool goes_on_ = false;
};

template <class Append>
std::string map_characters(std::string_view text, const Append& append) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    at += step.bytes;
    append(out, step.code_point, at);
  }
  return out;
}

/// False where no character is cased or one is of the case that is not wanted.
template <class Refuses>
bool all_cased(std::string_view text, const Refuses& refuses) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    at += step.bytes;
    if (refuses(step.code_point)) return false;
    any = any || is_cased(step.code_point);
  }
  return any;
}

bool is_title(uint32_t c) {
  return category(c) == Category::Lt;
}

}  // namespace

bool is_lowercase(uint32_t c) {
  return (category(c) == Category::Ll) != in_ranges(unicode_data::odd_lowercase(), c);
}
bool is_uppercase(uint32_t c) {
  return (category(c) == Category::Lu) != in_ranges(unicode_data::odd_uppercase(), c);
}
bool is_cased(uint32_t c) {
  return is_lowercase(c) || is_uppercase(c) || is_title(c);
}
bool is_digit(uint32_t c) {
  return (category(c) == Category::Nd) != in_ranges(unicode_data::odd_digits(), c);
}
bool is_numeric(uint32_t c) {
  return is_number(category(c)) != in_ranges(unicode_data::odd_numbers(), c);
}

std::string upper(std::string_view text) {
  return map_characters(text, [](std::string& out, uint32_t c, size_t) { append_upper(out, c); });
}

std::string lower(std::string_view text) {
  Lowering lowering(text);
  return map_characters(
      text, [&](std::string& out, uint32_t c, size_t end) { lowering.append_lower(out, c, end); });
}

std::string title(std::string_view text) {
  Lowering lowering(text);
  bool inside = false;
  return map_characters(text, [&](std::string& out, uint32_t c, size_t end) {
    if (inside) {
      lowering.append_lower(out, c, end);
    } else {
      append_title(out, c);
      lowering.see(c);
    }
    inside = is_cased(c);
  });
}

std::string capitalize(std::string_view text) {
  Lowering lowering(text);
  bool first = true;
  return map_characters(text, [&](std::string& out, uint32_t c, size_t end) {
    if (std::exchange(first, false)) {
      append_title(out, c);
      lowering.see(c);
    } else {
      lowering.append_lower(out, c, end);
    }
  });
}

std::string casefold(std::string_view text) {
  static const Specials specials = read_specials(unicode_data::special_fold());
  return map_characters(text, [](std::string& out, uint32_t c, size_t) {
    append_special(out, c, specials, to_lower);
  });
}

std::string swapcase(std::string_view text) {
  Lowering lowering(text);
  return map_characters(text, [&](std::string& out, uint32_t c, size_t end) {
    if (is_uppercase(c)) {
      lowering.append_lower(out, c, end);
      return;
    }
    if (is_lowercase(c)) {
      append_upper(out, c);
    } else {
      append_utf8(out, c);
    }
    lowering.see(c);
  });
}

bool all_lower(std::string_view text) {
  return all_cased(text, [](uint32_t c) { return is_uppercase(c) || is_title(c); });
}

bool all_upper(std::string_view text) {
  return all_cased(text, [](uint32_t c) { return is_lowercase(c) || is_title(c); });
}

bool all_title(std::string_view text) {
  bool inside = false;
  return all_cased(text, [&](uint32_t c) {
    const bool begins = is_uppercase(c) || is_title(c);
    const bool wrong = inside ? begins : is_lowercase(c);
    inside = is_cased(c);
    return wrong;
  });
}

}  // namespace troupe::text
