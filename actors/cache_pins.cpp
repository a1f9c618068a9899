#include "actors/cache_pins.hpp"

#include <algorithm>

#include "actors/limits.hpp"

namespace troupe::actors {
namespace {

/// Where each token ends in the text. Empty when the tokens do not spell it byte for byte, as where
/// a tokenizer puts a space in front.
std::vector<size_t> ends_of(const EncodedText& prompt) {
  std::vector<size_t> ends;
  ends.reserve(prompt.tokens.size());
  size_t end = 0;
  for (const int32_t token : prompt.tokens) {
    end += (prompt.tokenizer.is_control(token) ? prompt.tokenizer.spelling(token)
                                               : prompt.tokenizer.token_bytes(token))
               .size();
    ends.push_back(end);
  }
  if (end != prompt.text.size()) ends.clear();
  return ends;
}

/// Leading tokens that the text's beginning has as well.
size_t common_tokens(const EncodedText& prompt, size_t bytes) {
  text::EncodeOptions options = prompt.options;
  const auto within = std::ranges::partition_point(
      options.plain, [&](const text::ByteRange& range) { return range.end <= bytes; });
  options.plain = options.plain.first(static_cast<size_t>(within - options.plain.begin()));
  const auto tokens =
      prompt.tokenizer.encode(std::string_view(prompt.text).substr(0, bytes), options);
  if (!tokens) return 0;
  return static_cast<size_t>(std::ranges::mismatch(*tokens, prompt.tokens).in1 - tokens->begin());
}

}  // namespace

std::vector<text::ChatPlace> places_of(const CacheMarks& marks) {
  std::vector<text::ChatPlace> places;
  for (const v1::CacheMark& mark : marks) {
    if (places.size() == size_t{limits::cache_marks_max}) break;
    places.push_back({mark.in_tools(), mark.index(), mark.content_bytes()});
  }
  return places;
}

std::vector<v1::CachePin> cache_pins(const CacheMarks& marks, std::span<const size_t> bytes,
                                     const EncodedText& prompt) {
  const std::vector<size_t> ends = ends_of(prompt);
  std::vector<v1::CachePin> pins;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == 0) continue;
    const size_t tokens =
        ends.empty() ? common_tokens(prompt, bytes[i])
                     : static_cast<size_t>(std::ranges::upper_bound(ends, bytes[i]) - ends.begin());
    if (tokens == 0) continue;
    v1::CachePin& pin = pins.emplace_back();
    pin.set_tokens(static_cast<uint32_t>(tokens));
    pin.set_ttl_s(std::min(marks[static_cast<int>(i)].ttl_s(), limits::cache_ttl_max_s));
  }
  std::ranges::stable_sort(pins, {}, [](const v1::CachePin& pin) { return pin.tokens(); });
  return pins;
}

}  // namespace troupe::actors
