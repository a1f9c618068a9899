// Bytes as tokens: what the detokenizer streams is the repaired whole, cut at characters; stop
// strings are found wherever the cuts lie.
#include "text/utf8.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/text/small_tokenizer.hpp"
#include "text/output_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace troupe::text;
  static const auto tokenizer = *Tokenizer::make(small_spec());
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = replace_invalid_utf8(bytes);
  if (first_invalid_utf8(whole)) __builtin_trap();

  const std::vector<std::string> stops = {"ab", "aab", "\xef\xbf\xbd!"};
  Detokenizer detokenizer(tokenizer);
  OutputText output(tokenizer, {stops, true});
  std::string streamed;
  std::string emitted;
  for (size_t i = 0; i < size; ++i) {
    const std::string piece = detokenizer.push(data[i]);
    if (first_invalid_utf8(piece)) __builtin_trap();
    streamed += piece;
    emitted += output.push(data[i]).text;
  }
  streamed += detokenizer.flush();
  emitted += output.flush().text;
  if (streamed != whole) __builtin_trap();

  StopMatcher at_once(stops);
  std::string expected = at_once.push(whole).text;
  if (!at_once.stopped()) expected += at_once.flush();
  if (emitted != expected || at_once.stopped() != output.stopped()) __builtin_trap();
  return 0;
}
