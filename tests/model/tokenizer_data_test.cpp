#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "tests/model/model_checks.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

TinyLlamaOptions with_tokenizer() {
  TinyLlamaOptions options = smallest();
  options.vocab = 300;
  options.tokenizer = true;
  return options;
}

void refused_after(const std::function<void(GgufWriter&)>& change, Code code,
                   const std::string& what, const std::string& hint) {
  GgufWriter writer = tiny_llama(with_tokenizer());
  change(writer);
  check_refused(writer, code, what, hint);
}

text::TokenizerSpec spec_of(const GgufWriter& writer) {
  const Bytes bytes = writer.build();
  const auto parsed = model::parse_model(bytes);
  REQUIRE(parsed.ok());
  return (*parsed)->tokenizer;
}

}  // namespace

TEST_CASE("a file without a tokenizer gives a model without tokens") {
  const text::TokenizerSpec spec = spec_of(tiny_llama(smallest()));
  CHECK(spec.tokens.empty());
  CHECK(spec.stop_ids.empty());
  CHECK(spec.chat_template.empty());
}

TEST_CASE("tokenizer data is read") {
  const text::TokenizerSpec spec = spec_of(tiny_llama(with_tokenizer()));
  REQUIRE(spec.tokens.size() == 300);
  CHECK(spec.pre_tokenizer == "smollm");
  CHECK(spec.tokens['A'] == "A");
  CHECK(spec.tokens[' '] == "\u0120");
  CHECK(spec.tokens[257] == "<|im_start|>");
  CHECK(spec.types[257] == text::TokenType::control);
  CHECK(spec.types[65] == text::TokenType::normal);
  CHECK(spec.merges[0] == text::SpelledMerge{"\u0120", "t"});
  CHECK(spec.merges.size() == 300 - 259);
  CHECK(spec.bos_id == 256);
  CHECK(spec.eos_id == 258);
  CHECK(spec.unknown_id == -1);
  CHECK_FALSE(spec.add_bos);
  CHECK_FALSE(spec.add_eos);
  CHECK(spec.stop_ids == std::vector<int32_t>{256, 258});
  CHECK(spec.chat_template == tiny_chat_template);
}

TEST_CASE("stop ids: eos, eot and control tokens of known names") {
  GgufWriter w = tiny_llama(with_tokenizer());
  w.add_u32("tokenizer.ggml.eot_token_id", 5);
  CHECK(spec_of(w).stop_ids == std::vector<int32_t>{5, 256, 258});
  w.set_u32("tokenizer.ggml.eos_token_id", 0xffffffffu);
  CHECK(spec_of(w).eos_id == -1);
  w.remove("tokenizer.ggml.token_type");
  w.remove("tokenizer.ggml.eos_token_id");
  CHECK(spec_of(w).stop_ids == std::vector<int32_t>{5});
}

TEST_CASE("bos is added by default for llama 3's pre-tokenizer alone") {
  GgufWriter w = tiny_llama(with_tokenizer());
  w.remove("tokenizer.ggml.add_bos_token");
  CHECK_FALSE(spec_of(w).add_bos);
  w.remove("tokenizer.ggml.pre");
  CHECK(spec_of(w).pre_tokenizer == "default");
  w.add_string("tokenizer.ggml.pre", "llama-bpe");
  CHECK(spec_of(w).add_bos);
  w.remove("tokenizer.ggml.bos_token_id");
  CHECK_FALSE(spec_of(w).add_bos);
}

TEST_CASE("tokenizers that are wrong or unknown") {
  refused_after(
      [](GgufWriter& w) {
        w.remove("tokenizer.ggml.model");
        w.add_string("tokenizer.ggml.model", "rwkv");
      },
      Code::unsupported, "tokenizer model is \"rwkv\"", "supported: gpt2");
  refused_after([](GgufWriter& w) { w.remove("tokenizer.ggml.model"); }, Code::unsupported,
                "not named", "supported: gpt2");
  refused_after([](GgufWriter& w) { w.remove("tokenizer.ggml.tokens"); }, Code::corrupt,
                "tokenizer.ggml.tokens is missing", "");
  refused_after([](GgufWriter& w) { w.remove("tokenizer.ggml.merges"); }, Code::corrupt,
                "tokenizer.ggml.merges is missing", "");
  refused_after(
      [](GgufWriter& w) {
        w.remove("tokenizer.ggml.tokens");
        w.add_strings("tokenizer.ggml.tokens", make_tiny_tokenizer(299).tokens);
      },
      Code::corrupt, "299 tokens for an embedding of 300", "one token for each row");
  refused_after(
      [](GgufWriter& w) {
        w.remove("tokenizer.ggml.token_type");
        w.add_i32s("tokenizer.ggml.token_type", {1, 1});
      },
      Code::corrupt, "2 token types for 300 tokens", "one type");
  refused_after(
      [](GgufWriter& w) {
        std::vector<int32_t> types(300, 1);
        types[7] = 9;
        w.remove("tokenizer.ggml.token_type");
        w.add_i32s("tokenizer.ggml.token_type", types);
      },
      Code::corrupt, "token 7 has the type 9", "0 to 6");
  for (const char* merge : {"ab", " b", "a ", " "}) {
    refused_after(
        [&](GgufWriter& w) {
          w.remove("tokenizer.ggml.merges");
          w.add_strings("tokenizer.ggml.merges", {"a b", merge});
        },
        Code::corrupt, "merge 1 is \"" + std::string(merge) + "\"", "two tokens");
  }
  refused_after([](GgufWriter& w) { w.set_u32("tokenizer.ggml.eos_token_id", 300); }, Code::corrupt,
                "eos_token_id is 300", "below 300");
  refused_after([](GgufWriter& w) { w.add_string("tokenizer.ggml.unknown_token_id", "x"); },
                Code::corrupt, "unknown_token_id has the type string", "an integer");
}

TEST_CASE("the tiny tokenizer has each byte and each token once") {
  auto tokens = make_tiny_tokenizer(2000).tokens;
  CHECK(tokens.size() == 2000);
  std::ranges::sort(tokens);
  CHECK(std::ranges::adjacent_find(tokens) == tokens.end());
}
