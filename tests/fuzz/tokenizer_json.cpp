// Any bytes are a tokenizer.json or are refused, and what was read encodes and decodes.
#include "text/tokenizer_json.hpp"

#include <cstdint>

#include "tests/fuzz/use_tokenizer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  troupe::testing::use_tokenizer(troupe::text::read_tokenizer_json(input), input);
  return 0;
}
