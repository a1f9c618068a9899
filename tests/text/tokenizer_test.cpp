#include "text/tokenizer.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "tests/text/small_tokenizer.hpp"
#include "text/byte_alphabet.hpp"

using namespace troupe;
using namespace troupe::text;

TEST_CASE("encode merges by rank, leftmost first, and decode gives the bytes back") {
  const auto tokenizer = *Tokenizer::make(small_spec());
  const auto ids = *tokenizer->encode("hello hello");
  // "hello" is merged up to one token; " hello" has the space as its own byte.
  REQUIRE(ids.size() == 3);
  CHECK(tokenizer->token_bytes(ids[0]) == "hello");
  CHECK(tokenizer->token_bytes(ids[1]) == " ");
  CHECK(ids[2] == ids[0]);
  CHECK(*tokenizer->decode(ids) == "hello hello");
  CHECK(tokenizer->id_of("hello") == ids[0]);
  CHECK_FALSE(tokenizer->id_of("hellooo").has_value());
}

TEST_CASE("every byte string of valid UTF-8 survives encode and decode") {
  const auto tokenizer = *Tokenizer::make(small_spec());
  for (const std::string text : {"", " ", "\n\n a", "żółw 123", "日本語", "🦙🦙"}) {
    CHECK(*tokenizer->decode(*tokenizer->encode(text)) == text);
  }
}

TEST_CASE("control tokens are parsed only on request, user-defined ones always") {
  const auto tokenizer = *Tokenizer::make(small_spec());
  const int32_t begin = *tokenizer->id_of("<|begin|>");
  const int32_t tool = *tokenizer->id_of("<tool>");
  CHECK(*tokenizer->encode("<|begin|><tool>", {.parse_special = true}) ==
        std::vector<int32_t>{begin, tool});
  const auto plain = *tokenizer->encode("<|begin|><tool>");
  CHECK(plain.size() == 10);
  CHECK(plain.back() == tool);
  CHECK(tokenizer->encode("a", {.add_special = true})->front() == begin);
  CHECK(*tokenizer->decode(std::vector<int32_t>{begin, tool}, true) == "<tool>");
  CHECK(tokenizer->is_stop(begin));
}

TEST_CASE("bad input to encode and decode is refused") {
  const auto tokenizer = *Tokenizer::make(small_spec());
  const auto broken = tokenizer->encode("ab\xff");
  REQUIRE(!broken.ok());
  CHECK(broken.error().what == "the text is not valid UTF-8: byte 255 at offset 2");
  CHECK(tokenizer->encode(std::string((8u << 20) + 1, 'a')).error().code == Code::exhausted);
  CHECK(tokenizer->decode(std::vector<int32_t>{-1}).error().code == Code::invalid_argument);
  CHECK_FALSE(tokenizer->decode(std::vector<int32_t>{tokenizer->size()}).ok());
  CHECK(tokenizer->token_bytes(-5).empty());
}

TEST_CASE("a spec that contradicts itself is refused with the reason") {
  const auto reason = [](auto change) {
    TokenizerSpec spec = small_spec();
    change(spec);
    const auto made = Tokenizer::make(spec);
    return made.ok() ? std::string("accepted") : made.error().message();
  };
  CHECK(reason([](auto& s) { s.tokens.clear(); }) == "tokenizer: the vocabulary is empty");
  CHECK(reason([](auto& s) { s.types.pop_back(); }).find("token types for") != std::string::npos);
  CHECK(reason([](auto& s) {
          s.merges.push_back({"he", "xx"});
        }).find("'xx', which is not") != std::string::npos);
  CHECK(reason([](auto& s) {
          s.merges.push_back({"h", "h"});
        }).find("'hh', which is not") != std::string::npos);
  CHECK(reason([](auto& s) { s.eos_id = 99999; }).find("EOS id 99999") != std::string::npos);
  CHECK(reason([](auto& s) { s.stop_ids = {-7}; }).find("stop id -7") != std::string::npos);
  CHECK(reason([](auto& s) { s.bos_id = -1; }).find("no BOS id") != std::string::npos);
  CHECK(reason([](auto& s) { s.types[0] = static_cast<TokenType>(9); }).find("type 9") !=
        std::string::npos);
  CHECK(reason([](auto& s) {
          s.pre_tokenizer = "nobody";
        }).starts_with("tokenizer: the pre-tokenizer 'nobody' is not supported (supported are "));
  CHECK(reason([](auto& s) { s.kind = TokenizerKind::unigram; }).find("0 scores for 263 tokens") !=
        std::string::npos);
  CHECK(reason([](auto& s) {
          s.prefix_ids = {1, 99999};
        }).find("prefix id 99999") != std::string::npos);
  CHECK(reason([](auto& s) { s.added = {{.id = 99999}}; }).find("added token's id 99999") !=
        std::string::npos);
}

TEST_CASE("of tokens that are spelt alike the first one is used") {
  TokenizerSpec spec = small_spec();
  spec.tokens[1] = spec.tokens['a'];
  const auto tokenizer = *Tokenizer::make(spec);
  CHECK(*tokenizer->encode("a") == std::vector<int32_t>{1});
  CHECK(*tokenizer->decode(std::vector<int32_t>{'a'}) == "a");
}

TEST_CASE("a megabyte without a break takes work in proportion to its length") {
  std::string hello;
  while (hello.size() < (1u << 20)) hello += "hello";
  for (const std::string& text : {hello, std::string(1u << 20, 'l'), std::string(1u << 20, ' '),
                                  std::string(1u << 20, 'h')}) {
    const auto tokenizer = *Tokenizer::make(small_spec());
    const auto ids = tokenizer->encode(text);
    REQUIRE(ids.ok());
    CHECK(*tokenizer->decode(*ids) == text);
    CHECK(tokenizer->merge_lookups() <= 3 * text.size());
  }
  const auto tokenizer = *Tokenizer::make(small_spec());
  CHECK(tokenizer->encode(hello)->size() == hello.size() / 5);
}

TEST_CASE("results do not depend on what was encoded before, nor on other threads") {
  const auto tokenizer = *Tokenizer::make(small_spec());
  const std::string text = "hello hell he hello, <tool> hellohell 12 hello";
  const auto expected = *tokenizer->encode(text);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        if (*tokenizer->encode(text.substr(static_cast<size_t>(t))) ==
                *(*Tokenizer::make(small_spec()))->encode(text.substr(static_cast<size_t>(t))) &&
            *tokenizer->encode(text) == expected) {
          continue;
        }
        ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("the byte alphabet is GPT-2's") {
  CHECK(bytes_to_spelling(" \n") == "ĠĊ");
  CHECK(bytes_to_spelling("A\xad\xff") == "AŃÿ");
  CHECK(spelling_to_bytes("ĠA") == " A");
  CHECK_FALSE(spelling_to_bytes("日").has_value());
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    CHECK(spelling_to_bytes(bytes_to_spelling(one)) == one);
  }
}
