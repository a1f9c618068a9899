#include "model/quoted.hpp"

namespace troupe::model {

std::string quoted(std::string_view text) {
  constexpr size_t shown_max = 96;
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, shown_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      out += c;
    } else {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  out += text.size() > shown_max ? "...\"" : "\"";
  return out;
}

}  // namespace troupe::model
