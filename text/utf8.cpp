#include "text/utf8.hpp"

#include <algorithm>
#include <cstring>

#include "base/concat.hpp"

namespace troupe::text {

namespace {

/// The lead byte's number of continuation bytes, and the range its first continuation must lie in
/// (which excludes overlong forms, surrogates and values above U+10FFFF). -1: not a lead byte.
struct Lead {
  int continuations;
  uint8_t low;
  uint8_t high;
};

Lead classify(uint8_t byte) {
  if (byte < 0x80) return {0, 0, 0};
  if (byte < 0xc2) return {-1, 0, 0};
  if (byte < 0xe0) return {1, 0x80, 0xbf};
  if (byte == 0xe0) return {2, 0xa0, 0xbf};
  if (byte == 0xed) return {2, 0x80, 0x9f};
  if (byte < 0xf0) return {2, 0x80, 0xbf};
  if (byte == 0xf0) return {3, 0x90, 0xbf};
  if (byte < 0xf4) return {3, 0x80, 0xbf};
  if (byte == 0xf4) return {3, 0x80, 0x8f};
  return {-1, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at);
  const Lead lead = classify(first);
  if (lead.continuations == 0) return {first, 1, true, false};
  if (lead.continuations < 0) return {};
  uint32_t code_point = first & (0x3fu >> lead.continuations);
  for (int i = 1; i <= lead.continuations; ++i) {
    const size_t next = at + static_cast<size_t>(i);
    if (next >= text.size()) {
      return {replacement_character, static_cast<uint32_t>(i), false, true};
    }
    const uint8_t low = i == 1 ? lead.low : 0x80;
    const uint8_t high = i == 1 ? lead.high : 0xbf;
    if (byte(next) < low || byte(next) > high) {
      return {replacement_character, static_cast<uint32_t>(i), false, false};
    }
    code_point = (code_point << 6) | (byte(next) & 0x3fu);
  }
  return {code_point, static_cast<uint32_t>(lead.continuations + 1), true, false};
}

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  constexpr uint64_t high_bits = 0x8080808080808080u;
  const auto continues = [&](size_t i) {
    return i < text.size() && (static_cast<uint8_t>(text[i]) & 0xc0) == 0x80;
  };
  for (size_t at = 0; at < text.size();) {
    // Most text is ASCII; of the rest most is in the two easy ranges.
    uint64_t eight = high_bits;
    if (at + sizeof eight <= text.size()) std::memcpy(&eight, text.data() + at, sizeof eight);
    if ((eight & high_bits) == 0) {
      at += sizeof eight;
      continue;
    }
    const uint8_t first = static_cast<uint8_t>(text[at]);
    if (first < 0x80) {
      ++at;
    } else if (first >= 0xc2 && first < 0xe0 && continues(at + 1)) {
      at += 2;
    } else if (first > 0xe0 && first < 0xed && continues(at + 1) && continues(at + 2)) {
      at += 3;
    } else {
      const Utf8Step step = utf8_step(text, at);
      if (!step.valid) return at;
      at += step.bytes;
    }
  }
  return std::nullopt;
}

Status check_utf8(std::string_view text, std::string_view what) {
  const std::optional<size_t> at = first_invalid_utf8(text);
  if (!at) return {};
  return error(Code::invalid_argument,
               concat(what, " is not valid UTF-8: byte ",
                      static_cast<unsigned>(static_cast<uint8_t>(text[*at])), " at offset ", *at),
               "send text encoded as UTF-8");
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    if (step.valid) {
      out.append(text.substr(at, step.bytes));
    } else {
      append_utf8(out, replacement_character);
    }
    at += step.bytes;
  }
  return out;
}

size_t unfinished_utf8_tail(std::string_view text) {
  const size_t longest = std::min<size_t>(3, text.size());
  for (size_t length = longest; length >= 1; --length) {
    const Utf8Step step = utf8_step(text, text.size() - length);
    if (step.cut && step.bytes == length) return length;
  }
  return 0;
}

void append_utf8(std::string& out, uint32_t code_point) {
  if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) {
    code_point = replacement_character;
  }
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    put(0xe0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3f));
    put(0x80 | (code_point & 0x3f));
  } else {
    put(0xf0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3f));
    put(0x80 | ((code_point >> 6) & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
}

size_t utf8_length(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += utf8_step(text, at).bytes) ++count;
  return count;
}

}  // namespace troupe::text
