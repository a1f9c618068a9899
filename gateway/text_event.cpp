#include "gateway/text_event.hpp"

#include <algorithm>

#include "gateway/http.hpp"
#include "text/utf8.hpp"

namespace troupe::gateway {

void append_escaped(std::string& out, std::string_view text) {
  const auto needs_care = [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7F;
  };
  if (std::ranges::none_of(text, needs_care) && !text::first_invalid_utf8(text)) {
    out += text;
    return;
  }
  const std::string quoted = text_of(Json(std::string(text)));
  out.append(quoted, 1, quoted.size() - 2);
}

TextEvent::TextEvent(std::string_view name, const Json& body) {
  constexpr std::string_view mark = "\\u0001";
  before_ = event(name, text_of(body));
  const size_t at = before_.rfind(mark);
  after_ = before_.substr(at + mark.size());
  before_.resize(at);
}

std::string TextEvent::with(std::string_view text) const {
  std::string out;
  out.reserve(before_.size() + text.size() + after_.size() + 16);
  out += before_;
  append_escaped(out, text);
  out += after_;
  return out;
}

}  // namespace troupe::gateway
