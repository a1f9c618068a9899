// A vocabulary made of the input's lines ("m" merges, "c" control, "u" user-defined, else tokens):
// refused or usable, never a crash.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace {

troupe::text::TokenizerSpec read_spec(std::string_view input) {
  using troupe::text::TokenType;
  troupe::text::TokenizerSpec spec;
  spec.pre_tokenizer = "gpt-2";
  while (!input.empty()) {
    const size_t end = std::min(input.find('\n'), input.size());
    const std::string line(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
    const char kind = line.empty() ? '\0' : line[0];
    if (kind == 'm') {
      const size_t space = std::min(line.find(' ', 2), line.size());
      spec.merges.push_back(
          {line.substr(1, space - 1), line.substr(std::min(space + 1, line.size()))});
      continue;
    }
    const bool special = kind == 'c' || kind == 'u';
    spec.tokens.push_back(special ? line.substr(1) : line);
    spec.types.push_back(kind == 'c'   ? TokenType::control
                         : kind == 'u' ? TokenType::user_defined
                                       : TokenType::normal);
  }
  return spec;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto made = troupe::text::Tokenizer::make(read_spec(input));
  if (!made.ok()) return 0;
  const auto ids =
      (*made)->encode(troupe::text::replace_invalid_utf8(input), {.parse_special = true});
  if (!ids.ok() || !(*made)->decode(*ids).ok()) __builtin_trap();
  return 0;
}
