#include "text/pre_tokenizer.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "base/concat.hpp"
#include "text/pre_steps.hpp"
#include "text/split_words.hpp"

using namespace troupe;
using namespace troupe::text;

namespace {

using Words = std::vector<std::string>;

Words run(const std::vector<PreStep>& steps, std::string text) {
  const auto made = PreTokenizer::make(steps);
  REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.error().message()));
  PreScratch scratch;
  std::vector<Piece> pieces;
  REQUIRE(made->run(text, pieces, scratch, true).ok());
  Words parts;
  for (const Piece piece : pieces) {
    CHECK(piece.begin < piece.end);
    parts.push_back(text.substr(piece.begin, piece.end - piece.begin));
  }
  return parts;
}

Words words(const char* name, const std::string& text) {
  const NamedPreTokenizer* named = find_pre_tokenizer(name);
  REQUIRE(named != nullptr);
  return run(steps_of(*named), text);
}

PreStep split(std::string pattern, SplitBehavior behavior, bool invert = false) {
  PreStep step;
  step.pattern = std::move(pattern);
  step.behavior = behavior;
  step.invert = invert;
  return step;
}

/// Text of characters that patterns tell apart.
std::string odd_text(std::mt19937& random) {
  constexpr const char* parts[] = {
      "a",      "b",  "S",      "T",      "'",      "'s",     "'LL", "'\u017f", " ",
      " ",      "\t", "\n",     "\r",     "1",      "23",     "é",   "e\u0301", "\u0301",
      "Ж",      "ж",  "\u01c5", "你",     "か",     "ー",     "½",   "²",       "٣",
      "!",      "/",  "$",      "\u00a0", "\u0085", "\u3000", "_",   "🙂",    "\u200d",
      "\u0001", "ª",  "-",      "\u2028", "क",      "\u093f"};
  std::string text;
  for (size_t count = random() % 24; count > 0; --count) text += parts[random() % std::size(parts)];
  return text;
}

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

TEST_CASE("families differ where their patterns do") {
  CHECK(words("llama-bpe", "(abc 12345\n\n x") == Words{"(abc", " ", "123", "45", "\n\n", " x"});
  CHECK(words("qwen2", "ab 12") == Words{"ab", " ", "1", "2"});
  CHECK(words("qwen35", "re\u0301s") == Words{"re\u0301s"});
  CHECK(words("gpt-4o", "camelCase HTTPServer's") == Words{"camel", "Case", " HTTPServer's"});
  CHECK(words("tekken", "It's 12") == Words{"It", "'s", " ", "1", "2"});
  CHECK(words("deepseek-v3", "x1234 你好ab") == Words{"x", "123", "4", " ", "你好", "ab"});
  CHECK(words("kimi-k2", "abc你好Def 12") == Words{"abc", "你好", "Def", " ", "12"});
  CHECK(words("falcon", "ab12345 c") == Words{"ab", "123", "45", " c"});
  CHECK(words("superbpe", "x1234567") == Words{"x", "1", "234", "567"});
}

TEST_CASE("every name has a pre-tokenizer that cuts every text without loss") {
  std::mt19937 random(1);
  std::string names = pre_tokenizer_names() + ", ";
  int count = 0;
  for (size_t at; (at = names.find(", ")) != std::string::npos; names.erase(0, at + 2)) {
    const std::string name = names.substr(0, at);
    for (int round = 0; round < 20; ++round) {
      const std::string text = odd_text(random);
      std::string joined;
      for (const std::string& word : words(name.c_str(), text)) joined += word;
      CHECK_MESSAGE(joined == text, name);
    }
    ++count;
  }
  CHECK(count > 70);
  CHECK(find_pre_tokenizer("nobody") == nullptr);
}

TEST_CASE("hand-written splitters cut as their patterns do") {
  std::mt19937 random(2);
  for (const std::string_view pattern : splitter_patterns()) {
    // One more group, so that the pattern is run and not recognised.
    const auto by_hand = std::vector<PreStep>{split(std::string(pattern), SplitBehavior::isolated)};
    const auto by_regex =
        std::vector<PreStep>{split(concat("(?:", pattern, ")"), SplitBehavior::isolated)};
    for (int round = 0; round < 400; ++round) {
      const std::string text = odd_text(random);
      CHECK_MESSAGE(run(by_hand, text) == run(by_regex, text), pattern << " on " << text);
    }
  }
}

TEST_CASE("what becomes of matches") {
  const auto cut = [](SplitBehavior behavior, bool invert = false) {
    return run({split("-", behavior, invert)}, "a--b-c");
  };
  CHECK(cut(SplitBehavior::removed) == Words{"a", "b", "c"});
  CHECK(cut(SplitBehavior::isolated) == Words{"a", "-", "-", "b", "-", "c"});
  CHECK(cut(SplitBehavior::merged_with_previous) == Words{"a-", "-", "b-", "c"});
  CHECK(cut(SplitBehavior::merged_with_next) == Words{"a", "-", "-b", "-c"});
  CHECK(cut(SplitBehavior::contiguous) == Words{"a", "--", "b", "-", "c"});
  CHECK(cut(SplitBehavior::removed, true) == Words{"-", "-", "-"});
}

TEST_CASE("patterns mean what they mean to Oniguruma") {
  const auto isolated = [](const char* pattern, const char* text) {
    return run({split(pattern, SplitBehavior::isolated)}, text);
  };
  CHECK(isolated("\\s", "a\u0085b\u180ec") == Words{"a", "\u0085", "b\u180ec"});
  CHECK(isolated("[^\\s]+", "a\u0085b") == Words{"a", "\u0085", "b"});
  CHECK(isolated("[\\S]", "\u0085b") == Words{"\u0085", "b"});
  CHECK(isolated("\\w+", "e\u0301-f") == Words{"e\u0301", "-", "f"});
  CHECK(isolated("\\h+", "xbad0") == Words{"x", "bad0"});
  CHECK(isolated("[\\p{L}&&[^\\p{Han}]]+", "ab你c") == Words{"ab", "你", "c"});
  CHECK(isolated("[a[bc]]+", "abcd") == Words{"abc", "d"});
  CHECK(isolated("\\p{Han}+", "你「好。") == Words{"你", "「", "好", "。"});
  CHECK(isolated("[^\\p{Katakana}\\p{hiragana}]+", "かーガx") == Words{"か", "ー", "ガ", "x"});
  CHECK(isolated("\\p{^Letter}+|\\P{Lowercase_Letter}", "aB1") == Words{"a", "B", "1"});
  CHECK(isolated("b$", "ab\nb") == Words{"a", "b", "\n", "b"});
}

TEST_CASE("patterns work within limits, and long matches are found whole") {
  const std::string spaces(200'000, ' ');
  CHECK(run({split("(?:\\s+)", SplitBehavior::isolated)}, spaces) == Words{spaces});
  CHECK(run({split("x|\\s*y", SplitBehavior::isolated)}, "x" + spaces + "yx") ==
        Words{"x", spaces + "y", "x"});
  const auto fails = [](const char* pattern, std::string text) {
    const auto made = PreTokenizer::make({split(pattern, SplitBehavior::isolated)});
    REQUIRE(made.ok());
    PreScratch scratch;
    std::vector<Piece> pieces;
    const Status status = made->run(text, pieces, scratch, true);
    return !status.ok() && status.error().code == Code::exhausted;
  };
  CHECK(fails("a(?=a*[bc])", std::string(300'000, 'a')));
  CHECK(fails("(?:a+)+[bc]", std::string(2'000, 'a')));
  CHECK(PreTokenizer::make({split("(", SplitBehavior::isolated)}).error().code ==
        Code::invalid_argument);
  CHECK(
      PreTokenizer::make({split(std::string(20'000, 'a'), SplitBehavior::isolated)}).error().code ==
      Code::exhausted);
}

TEST_CASE("metaspace and the byte level's space") {
  PreStep step;
  step.kind = PreKind::metaspace;
  step.replacement = "\u2581";
  step.prepend = PrependScheme::always;
  CHECK(run({step}, "a  b") == Words{"\u2581a", "\u2581", "\u2581b"});
  step.prepend = PrependScheme::never;
  step.split = false;
  CHECK(run({step}, "a b") == Words{"a\u2581b"});
  step = {};
  step.kind = PreKind::byte_level;
  step.add_prefix_space = true;
  CHECK(run({step}, "a") == Words{" a"});
  CHECK(run({step}, " a") == Words{" a"});
}
