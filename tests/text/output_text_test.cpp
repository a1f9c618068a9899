#include "text/output_text.hpp"

#include <doctest/doctest.h>

#include "tests/text/small_tokenizer.hpp"
#include "text/utf8.hpp"

using namespace troupe::text;

namespace {

std::shared_ptr<const Tokenizer> tokenizer() {
  static const auto made = *Tokenizer::make(small_spec());
  return made;
}

/// Pushes bytes as tokens; '|' separates what each push gave, '!' marks a stop.
std::string stream(std::string_view bytes, std::vector<std::string> stops) {
  OutputText output(tokenizer(), {std::move(stops), true});
  std::string log;
  for (const char byte : bytes) {
    const auto out = output.push(static_cast<uint8_t>(byte));
    log += out.text + (out.stopped ? "!" : "|");
    if (out.stopped) return log;
  }
  const auto rest = output.flush();
  return log + rest.text + (rest.stopped ? "!" : "");
}

}  // namespace

TEST_CASE("only whole characters come out of the detokenizer") {
  Detokenizer detokenizer(tokenizer());
  CHECK(detokenizer.push(0xe6) == "");
  CHECK(detokenizer.push(0x97) == "");
  CHECK(detokenizer.push(0xa5) == "日");
  CHECK(detokenizer.push(0xe6) == "");
  CHECK(detokenizer.push('a') ==
        "\xef\xbf\xbd"
        "a");
  CHECK(detokenizer.push(*tokenizer()->id_of("<|end|>")) == "");
  CHECK(detokenizer.push(0xf0) == "");
  CHECK(detokenizer.flush() == "\xef\xbf\xbd");
  CHECK(detokenizer.flush() == "");
  Detokenizer all(tokenizer(), false);
  CHECK(all.push(*tokenizer()->id_of("<|end|>")) == "<|end|>");
}

TEST_CASE("a stop string ends the text and is not part of it") {
  CHECK(stream("abSTOPc", {"STOP"}) == "a|b||||!");
  CHECK(stream("abSTOc", {"STOP"}) == "a|b||||STOc|");
  CHECK(stream("abST", {"STOP"}) == "a|b|||ST");
  CHECK(stream("aab", {"ab"}) == "|a|!");
  CHECK(stream("xyz", {"yz", "xyz"}) == "||!");
  CHECK(stream("日本", {"本"}) == "||日|||!");
}

TEST_CASE("text is the same however it is cut into pieces") {
  const std::string text = "one END two ENEND three";
  StopMatcher whole({"ENEND"});
  const auto expected = whole.push(text);
  CHECK(expected.text == "one END two ");
  CHECK(whole.found() == 0);
  for (size_t size = 1; size < text.size(); ++size) {
    StopMatcher pieces({"ENEND"});
    std::string out;
    for (size_t at = 0; at < text.size(); at += size)
      out += pieces.push(text.substr(at, size)).text;
    CHECK(out == expected.text);
    CHECK(pieces.stopped());
  }
}

TEST_CASE("stop strings that cannot be used are refused") {
  CHECK(check_stop_strings({"a", "b"}).ok());
  CHECK_FALSE(check_stop_strings({""}).ok());
  CHECK_FALSE(check_stop_strings({"\xff"}).ok());
  CHECK_FALSE(check_stop_strings(std::vector<std::string>(17, "x")).ok());
  CHECK_FALSE(check_stop_strings({std::string(5000, 'x')}).ok());
}
