#include "text/pre_tokenizer.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace troupe::text;

namespace {

std::vector<std::string> words(const char* name, std::string_view text) {
  std::vector<size_t> ends;
  find_pre_tokenizer(name)(text, ends);
  std::vector<std::string> parts;
  size_t begin = 0;
  for (const size_t end : ends) {
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  CHECK(begin == text.size());
  return parts;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("gpt-2 cuts words with their space, contractions, numbers and the rest") {
  CHECK(words("gpt-2", "I'll go, now!") == Words{"I", "'ll", " go", ",", " now", "!"});
  CHECK(words("gpt-2", "a 123b") == Words{"a", " 123", "b"});
  CHECK(words("gpt-2", "a   b") == Words{"a", "  ", " b"});
  CHECK(words("gpt-2", "a \n b  ") == Words{"a", " \n", " b", "  "});
  CHECK(words("gpt-2", "a\nb") == Words{"a", "\n", "b"});
  CHECK(words("gpt-2", "x\u00a0\u3000y") == Words{"x", "\u00a0", "\u3000", "y"});
  CHECK(words("gpt-2", "").empty());
}

TEST_CASE("smollm sets every digit apart") {
  CHECK(words("smollm", "a 123b") == Words{"a", " ", "1", "2", "3", "b"});
  CHECK(words("smollm", "x²½ y") == Words{"x", "²", "½", " y"});
}

TEST_CASE("an unknown name has no pre-tokenizer") {
  CHECK_FALSE(static_cast<bool>(find_pre_tokenizer("nobody")));
  CHECK(pre_tokenizer_names() == "gpt-2, smollm, starcoder");
}
