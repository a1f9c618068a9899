#include "text/unicode_normal.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "text/char_class.hpp"
#include "text/utf8.hpp"

namespace troupe::text {

namespace {

// Hangul syllables, as chapter 3.12 of the Unicode standard names them.
constexpr uint32_t s_base = 0xac00, l_base = 0x1100, v_base = 0x1161, t_base = 0x11a7;
constexpr uint32_t l_count = 19, v_count = 21, t_count = 28;
constexpr uint32_t s_count = l_count * v_count * t_count;

constexpr uint8_t has_canonical = 1;      // has a canonical mapping
constexpr uint8_t has_compatibility = 2;  // has some mapping
constexpr uint8_t composes_back = 4;      // may join what stands before it
constexpr uint8_t excluded = 8;           // has a canonical mapping that is not composed again
constexpr uint8_t combines = 16;          // has a combining class

struct Tables {
  std::array<uint16_t, 0x1100> page{};
  std::vector<uint8_t> flags;  // page 0 is empty
  std::unordered_map<uint32_t, std::span<const uint32_t>> mappings;
  std::unordered_map<uint32_t, uint8_t> classes;
  std::unordered_map<uint64_t, uint32_t> composed;

  Tables() : flags(256) {
    const std::span<const uint32_t> d = unicode_data::decompositions();
    for (size_t i = 0; i < d.size(); i += 2 + (d[i + 1] & 0xff)) {
      const bool compatibility = (d[i + 1] & 0x100) != 0;
      mappings[d[i]] = d.subspan(i + 2, d[i + 1] & 0xff);
      set(d[i], compatibility ? has_compatibility
                              : static_cast<uint8_t>(has_canonical | has_compatibility | excluded));
    }
    const std::span<const uint32_t> c = unicode_data::combining_classes();
    for (size_t i = 0; i < c.size(); i += 2) {
      for (uint32_t point = c[i]; point <= c[i + 1] >> 8; ++point) {
        classes[point] = static_cast<uint8_t>(c[i + 1] & 0xff);
        set(point, combines);
      }
    }
    const std::span<const uint32_t> pairs = unicode_data::compositions();
    for (size_t i = 0; i < pairs.size(); i += 3) {
      composed[uint64_t{pairs[i]} << 32 | pairs[i + 1]] = pairs[i + 2];
      set(pairs[i + 1], composes_back);
      flag(pairs[i + 2]) &= static_cast<uint8_t>(~excluded);
    }
    for (uint32_t v = v_base; v < v_base + v_count; ++v) set(v, composes_back);
    for (uint32_t t = t_base + 1; t < t_base + t_count; ++t) set(t, composes_back);
    for (uint32_t s = s_base; s < s_base + s_count; ++s) set(s, has_canonical | has_compatibility);
  }

  uint8_t& flag(uint32_t point) {
    uint16_t& number = page[point >> 8];
    if (number == 0) {
      number = static_cast<uint16_t>(flags.size() / 256);
      flags.resize(flags.size() + 256);
    }
    return flags[size_t{number} * 256 + (point & 0xff)];
  }
  void set(uint32_t point, uint8_t bits) { flag(point) |= bits; }
  [[nodiscard]] uint8_t at(uint32_t point) const {
    return flags[size_t{page[point >> 8]} * 256 + (point & 0xff)];
  }
  [[nodiscard]] uint8_t combining_class(uint32_t point) const {
    return (at(point) & combines) == 0 ? 0 : classes.at(point);
  }
};

const Tables& tables() {
  static const Tables made;
  return made;
}

bool composes(NormalForm form) {
  return form == NormalForm::nfc || form == NormalForm::nfkc;
}
bool compatible(NormalForm form) {
  return form == NormalForm::nfkc || form == NormalForm::nfkd;
}

/// Properties that make a character change, or change what stands before it.
uint8_t restless(NormalForm form) {
  const uint8_t mapped = compatible(form) ? has_compatibility : has_canonical;
  switch (form) {
    case NormalForm::nfc:
      return excluded | composes_back | combines;
    case NormalForm::nfkc:
      return excluded | composes_back | combines | has_compatibility;
    default:
      return static_cast<uint8_t>(mapped | combines);
  }
}

struct Mark {
  uint32_t point;
  uint8_t combining_class;
};

void decompose(const Tables& t, uint32_t point, bool compatibility, std::vector<Mark>& out) {
  if (point >= s_base && point < s_base + s_count) {
    const uint32_t s = point - s_base;
    out.push_back({l_base + s / (v_count * t_count), 0});
    out.push_back({v_base + s % (v_count * t_count) / t_count, 0});
    if (s % t_count != 0) out.push_back({t_base + s % t_count, 0});
    return;
  }
  const uint8_t wanted = compatibility ? has_compatibility : has_canonical;
  if ((t.at(point) & wanted) == 0) {
    out.push_back({point, t.combining_class(point)});
    return;
  }
  for (const uint32_t part : t.mappings.at(point)) decompose(t, part, compatibility, out);
}

uint32_t compose_pair(const Tables& t, uint32_t first, uint32_t second) {
  if (first >= l_base && first < l_base + l_count && second >= v_base &&
      second < v_base + v_count) {
    return s_base + ((first - l_base) * v_count + (second - v_base)) * t_count;
  }
  if (first >= s_base && first < s_base + s_count && (first - s_base) % t_count == 0 &&
      second > t_base && second < t_base + t_count) {
    return first + (second - t_base);
  }
  const auto found = t.composed.find(uint64_t{first} << 32 | second);
  return found == t.composed.end() ? 0 : found->second;
}

/// Joins marks with the last starter before them, where nothing of the same class stands between.
void compose(const Tables& t, std::vector<Mark>& marks) {
  size_t kept = 0;
  size_t starter = SIZE_MAX;
  for (size_t i = 0; i < marks.size(); ++i) {
    const Mark mark = marks[i];
    if (starter != SIZE_MAX) {
      const uint8_t before = kept > starter + 1 ? marks[kept - 1].combining_class : 0;
      const bool blocked = kept > starter + 1 && (before == 0 || before >= mark.combining_class);
      const uint32_t joined = blocked ? 0 : compose_pair(t, marks[starter].point, mark.point);
      if (joined != 0) {
        marks[starter].point = joined;
        continue;
      }
    }
    if (mark.combining_class == 0) starter = kept;
    marks[kept++] = mark;
  }
  marks.resize(kept);
}

/// The normal form of a part that begins with a starter and ends before one.
void append_part(const Tables& t, std::string_view part, NormalForm form, std::vector<Mark>& marks,
                 std::string& out) {
  marks.clear();
  const auto* bytes = reinterpret_cast<const uint8_t*>(part.data());
  for (size_t i = 0; i < part.size();) {
    const DecodedChar c = decode_valid(bytes + i);
    decompose(t, c.code_point, compatible(form), marks);
    i += c.bytes;
  }
  for (auto begin = marks.begin(); begin != marks.end();) {
    auto end = begin + 1;
    if (begin->combining_class != 0) {
      while (end != marks.end() && end->combining_class != 0) ++end;
      std::stable_sort(begin, end, [](const Mark& a, const Mark& b) {
        return a.combining_class < b.combining_class;
      });
    }
    begin = end;
  }
  if (composes(form)) compose(t, marks);
  for (const Mark& mark : marks) append_utf8(out, mark.point);
}

/// Offset of the first restless character from `at`, and of the character before it.
struct Restless {
  size_t before;
  size_t at;
};

Restless find_restless(const Tables& t, std::string_view text, size_t at, uint8_t bits) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  size_t before = at;
  while (at < text.size()) {
    if (bytes[at] < 0x80) {
      before = at++;
      continue;
    }
    const DecodedChar c = decode_valid(bytes + at);
    if ((t.at(c.code_point) & bits) != 0) return {before, at};
    before = at;
    at += c.bytes;
  }
  return {before, at};
}

}  // namespace

bool is_normal(std::string_view text, NormalForm form) {
  return find_restless(tables(), text, 0, restless(form)).at == text.size();
}

std::string normalize(std::string_view text, NormalForm form) {
  const Tables& t = tables();
  const uint8_t bits = restless(form);
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  std::string out;
  out.reserve(text.size());
  std::vector<Mark> marks;
  for (size_t at = 0; at < text.size();) {
    const Restless found = find_restless(t, text, at, bits);
    if (found.at == text.size()) {
      out.append(text.substr(at));
      break;
    }
    // What stands before it may join it; nothing reaches over a character that is at rest.
    out.append(text.substr(at, found.before - at));
    size_t end = found.at;
    while (end < text.size() && bytes[end] >= 0x80) {
      const DecodedChar c = decode_valid(bytes + end);
      if ((t.at(c.code_point) & bits) == 0) break;
      end += c.bytes;
    }
    append_part(t, text.substr(found.before, end - found.before), form, marks, out);
    at = end;
  }
  return out;
}

}  // namespace troupe::text
