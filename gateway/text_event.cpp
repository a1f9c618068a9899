#include "gateway/text_event.hpp"

#include "gateway/http.hpp"
#include "text/json_text.hpp"

namespace troupe::gateway {

TextEvent::TextEvent(std::string_view name, const Json& body) {
  constexpr std::string_view mark = "\\u0001";
  before_ = event(name, text_of(body));
  const size_t at = before_.rfind(mark);
  after_ = before_.substr(at + mark.size());
  before_.resize(at);
}

void TextEvent::append(std::string& out, std::string_view text) const {
  out.reserve(out.size() + before_.size() + text.size() + after_.size() + 16);
  out += before_;
  text::append_escaped(out, text);
  out += after_;
}

}  // namespace troupe::gateway
