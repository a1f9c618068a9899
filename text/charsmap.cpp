#include "text/charsmap.hpp"

#include <cstring>

#include "base/concat.hpp"
#include "text/text_limits.hpp"

namespace troupe::text {

namespace {

// A unit of the double array as Darts-clone packs it.
constexpr bool has_leaf(uint32_t unit) {
  return ((unit >> 8) & 1) != 0;
}
constexpr uint32_t value(uint32_t unit) {
  return unit & 0x7fffffffu;
}
constexpr uint32_t label(uint32_t unit) {
  return unit & 0x800000ffu;
}
constexpr uint32_t offset(uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200u) >> 6);
}

}  // namespace

Result<Charsmap> Charsmap::make(std::string_view blob) {
  Charsmap made;
  if (blob.empty()) return made;
  if (blob.size() > limits::charsmap_bytes_max) {
    return error(Code::exhausted, concat("the character map has ", blob.size(), " bytes"),
                 concat("at most ", limits::charsmap_bytes_max));
  }
  uint32_t units_bytes = 0;
  if (blob.size() >= sizeof units_bytes) std::memcpy(&units_bytes, blob.data(), sizeof units_bytes);
  if (units_bytes == 0 || units_bytes % sizeof(uint32_t) != 0 ||
      units_bytes > blob.size() - sizeof units_bytes) {
    return error(Code::corrupt,
                 concat("the character map says that ", units_bytes, " of its ", blob.size(),
                        " bytes are an index"),
                 "a multiple of four that lies inside of it");
  }
  made.units_.resize(units_bytes / sizeof(uint32_t));
  std::memcpy(made.units_.data(), blob.data() + sizeof units_bytes, units_bytes);
  made.replacements_ = blob.substr(sizeof units_bytes + units_bytes);
  return made;
}

Charsmap::Found Charsmap::find(std::string_view text, bool first) const {
  Found found;
  if (units_.empty()) return found;
  uint32_t node = offset(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    // A zero byte would walk into the leaves.
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size()) break;
    const uint32_t unit = units_[node];
    if (label(unit) != byte) break;
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) break;
    const bool inside = i + 1 < text.size() && (static_cast<uint8_t>(text[i + 1]) & 0xc0) == 0x80;
    if (inside) continue;  // a prefix ends between characters, whatever a damaged map says
    const uint32_t at = value(units_[node]);
    if (at >= replacements_.size()) break;
    const std::string_view rest = std::string_view(replacements_).substr(at);
    found = {i + 1, rest.substr(0, rest.find('\0'))};
    if (first) break;
  }
  return found;
}

Charsmap::Found Charsmap::longest(std::string_view text) const {
  return find(text, false);
}

Charsmap::Found Charsmap::shortest(std::string_view text) const {
  return find(text, true);
}

}  // namespace troupe::text
