#include "model/quoted.hpp"

#include "base/sha256.hpp"

namespace troupe::model {

std::string quoted(std::string_view text) {
  constexpr size_t shown_max = 96;
  std::string out = "\"";
  for (const char c : text.substr(0, shown_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      out += c;
    } else {
      out += "\\x" + hex({&byte, 1});
    }
  }
  out += text.size() > shown_max ? "...\"" : "\"";
  return out;
}

}  // namespace troupe::model
