// Text through a small vocabulary: what is encoded must decode to itself.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/text/small_tokenizer.hpp"
#include "text/utf8.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace troupe::text;
  if (size == 0) return 0;
  static const auto smollm = *Tokenizer::make(small_spec());
  static const auto gpt2 = [] {
    TokenizerSpec spec = small_spec();
    spec.pre_tokenizer = "gpt-2";
    return *Tokenizer::make(spec);
  }();
  const auto& tokenizer = (data[0] & 1) != 0 ? smollm : gpt2;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto ids = tokenizer->encode(text, {.parse_special = (data[0] & 2) != 0});
  if (ids.ok() == first_invalid_utf8(text).has_value()) __builtin_trap();
  if (ids.ok() && *tokenizer->decode(*ids) != text) __builtin_trap();
  return 0;
}
