#include "gateway/cache_marks.hpp"

#include <algorithm>

#include "gateway/limits.hpp"

namespace troupe::gateway {

uint32_t CacheMarks::read(Fields& block) {
  const Json* control = block.object("cache_control");
  if (control == nullptr || error_) return 0;
  Fields of(*control, block.where("cache_control."), error_);
  std::string type;
  std::string ttl = "5m";
  of.text("type", type);
  of.text("ttl", ttl);
  if (!error_ && type != "ephemeral") {
    of.refuse("type", "is " + text_of(type) + ", expected ephemeral");
  }
  if (!error_ && ttl != "5m" && ttl != "1h") {
    of.refuse("ttl", "is " + text_of(ttl) + ", expected 5m or 1h");
  }
  const uint32_t seconds = ttl == "1h" ? limits::cache_long_s : limits::cache_short_s;
  if (!error_ && seconds > shortest_s_) {
    of.refuse("ttl",
              "is 1h: a ttl='1h' cache_control block must not come after a ttl='5m' "
              "cache_control block, in the order tools, system, messages");
  }
  if (error_) return 0;
  shortest_s_ = std::min(shortest_s_, seconds);
  ++num_read_;
  return seconds;
}

uint32_t CacheMarks::read_parts(const Json& parts, const std::string& path) {
  uint32_t longest = 0;
  for (size_t i = 0; parts.is_array() && i < parts.size() && !error_; ++i) {
    if (!parts[i].is_object()) continue;
    Fields part(parts[i], concat(path, "[", i, "]."), error_);
    longest = std::max(longest, read(part));
  }
  return longest;
}

void CacheMarks::read_automatic(Fields& fields, const Json& messages) {
  // It stands before everything else that may be marked only in the body.
  shortest_s_ = UINT32_MAX;
  const uint32_t seconds = read(fields);
  if (seconds == 0 || messages.empty()) return;
  const auto last = static_cast<uint32_t>(messages.size() - 1);
  const auto bytes = static_cast<uint32_t>(messages[last].value("content", "").size());
  const bool is_marked = !marks_.empty() && !marks_.back().in_tools &&
                         marks_.back().index == last && marks_.back().content_bytes == bytes;
  if (is_marked) --num_read_;
  if (is_marked && marks_.back().ttl_s == seconds) return;
  if (is_marked || (!marks_.empty() && marks_.back().ttl_s < seconds)) {
    fields.refuse("cache_control", "asks for another ttl than the blocks before it");
    return;
  }
  add({false, last, bytes, seconds});
}

std::vector<actors::CacheMark> CacheMarks::take() {
  if (!error_ && num_read_ > limits::cache_marks_max) {
    error_ = ApiError{400,
                      concat("A maximum of ", limits::cache_marks_max,
                             " blocks with cache_control may be provided. Found ", num_read_, "."),
                      "cache_control", "invalid_value"};
  }
  return std::move(marks_);
}

}  // namespace troupe::gateway
