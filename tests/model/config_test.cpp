#include "model/config.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/model/model_checks.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

void refused_after(const std::function<void(GgufWriter&)>& change, Code code,
                   const std::string& what, const std::string& hint) {
  GgufWriter writer = tiny_llama(smallest());
  change(writer);
  check_refused(writer, code, what, hint);
}

void set_float(GgufWriter& w, const std::string& key, float value) {
  w.remove(key);
  w.add_f32(key, value);
}

void set_string(GgufWriter& w, const std::string& key, const std::string& value) {
  w.remove(key);
  w.add_string(key, value);
}

model::ModelConfig config_of(const GgufWriter& writer) {
  const Bytes bytes = writer.build();
  const auto parsed = model::parse_model(bytes);
  REQUIRE(parsed.ok());
  return (*parsed)->config;
}

}  // namespace

TEST_CASE("the configuration of a tiny model") {
  TinyLlamaOptions options;
  options.layers = 3;
  options.context = 777;
  const model::ModelConfig c = config_of(tiny_llama(options));
  CHECK(c.architecture == "llama");
  CHECK(c.name == "tiny");
  CHECK(c.num_layers == 3);
  CHECK(c.hidden_size == 64);
  CHECK(c.num_heads == 4);
  CHECK(c.num_kv_heads == 2);
  CHECK(c.group_size() == 2);
  CHECK(c.head_dim == 16);
  CHECK(c.ffn_size == 96);
  CHECK(c.vocab_size == 320);
  CHECK(c.context_max == 777);
  CHECK(c.norm_epsilon == 1e-5f);
  CHECK_FALSE(c.tied_embedding);
  CHECK(c.rope.pairing == model::RopePairing::norm);
  CHECK(c.rope.dim == 16);
  CHECK(c.rope.base == 10000.0);
  REQUIRE(c.rope.inverse_frequency.size() == 8);
  CHECK(c.rope.inverse_frequency[4] == 0.01);
}

TEST_CASE("keys that may be absent have defaults") {
  GgufWriter w = tiny_llama();
  for (const char* key :
       {"llama.attention.key_length", "llama.attention.value_length", "llama.rope.freq_base",
        "llama.rope.dimension_count", "llama.vocab_size", "general.name"}) {
    w.remove(key);
  }
  const model::ModelConfig c = config_of(w);
  CHECK(c.head_dim == 16);
  CHECK(c.rope.dim == 16);
  CHECK(c.rope.base == 10000.0);
  CHECK(c.vocab_size == 320);
  CHECK(c.name.empty());

  TinyLlamaOptions all_heads;
  all_heads.kv_heads = 4;
  GgufWriter multi_head = tiny_llama(all_heads);
  multi_head.remove("llama.attention.head_count_kv");
  CHECK(config_of(multi_head).num_kv_heads == 4);
}

TEST_CASE("keys that must be there") {
  for (const char* key : {"general.architecture", "llama.block_count", "llama.context_length",
                          "llama.embedding_length", "llama.feed_forward_length",
                          "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    refused_after([&](GgufWriter& w) { w.remove(key); }, Code::corrupt,
                  std::string(key) + " is missing", "has it");
  }
  refused_after([](GgufWriter& w) { w.remove("llama.vocab_size"); }, Code::corrupt,
                "neither llama.vocab_size nor tokenizer.ggml.tokens", "one of the two");
}

TEST_CASE("zero and absurdly large numbers") {
  for (const char* key :
       {"llama.block_count", "llama.context_length", "llama.embedding_length",
        "llama.feed_forward_length", "llama.attention.head_count", "llama.attention.head_count_kv",
        "llama.attention.key_length", "llama.vocab_size"}) {
    refused_after([&](GgufWriter& w) { w.set_u32(key, 0); }, Code::corrupt,
                  std::string(key) + " is 0", "from 1 to");
    refused_after([&](GgufWriter& w) { w.set_u32(key, 0xffffffffu); }, Code::exhausted,
                  std::string(key) + " is 4294967295", "at most");
  }
}

TEST_CASE("numbers that do not fit one another") {
  refused_after(
      [](GgufWriter& w) {
        w.set_u32("llama.attention.head_count", 3);
        w.set_u32("llama.attention.head_count_kv", 2);
      },
      Code::corrupt, "3 heads and 2 key-value heads", "multiple");
  refused_after([](GgufWriter& w) { w.set_u32("llama.attention.head_count_kv", 4); }, Code::corrupt,
                "2 heads and 4 key-value heads", "multiple");
  refused_after(
      [](GgufWriter& w) {
        w.remove("llama.attention.key_length");
        w.set_u32("llama.attention.head_count", 3);
      },
      Code::corrupt, "32 is no multiple of the 3 heads", "key_length");
  refused_after(
      [](GgufWriter& w) {
        w.set_u32("llama.attention.key_length", 15);
        w.set_u32("llama.attention.value_length", 15);
      },
      Code::corrupt, "15 elements", "even");
  refused_after([](GgufWriter& w) { w.set_u32("llama.attention.value_length", 8); },
                Code::unsupported, "16 elements per head and values 8", "equal");
  for (const uint32_t dim : {0u, 3u, 18u}) {
    refused_after([&](GgufWriter& w) { w.set_u32("llama.rope.dimension_count", dim); },
                  Code::corrupt, "dimension_count is " + std::to_string(dim), "from 2 to the 16");
  }
}

TEST_CASE("numbers that are not sane") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0f, -1e-5f, 2.0f, nan, infinity}) {
    refused_after(
        [&](GgufWriter& w) { set_float(w, "llama.attention.layer_norm_rms_epsilon", value); },
        Code::corrupt, "layer_norm_rms_epsilon is", "small positive");
  }
  for (const float value : {0.0f, 1.0f, -10000.0f, 1e30f, nan, infinity}) {
    refused_after([&](GgufWriter& w) { set_float(w, "llama.rope.freq_base", value); },
                  Code::corrupt, "freq_base is", "above 1");
  }
}

TEST_CASE("other models are refused with what is supported") {
  refused_after([](GgufWriter& w) { set_string(w, "general.architecture", "bloom"); },
                Code::unsupported, "architecture is \"bloom\"", "gemma2, gemma3, glm4");
  refused_after([](GgufWriter& w) { w.add_u32("llama.expert_count", 8); }, Code::corrupt,
                "llama.expert_used_count is missing", "every file");
  refused_after([](GgufWriter& w) { w.add_u32("split.count", 2); }, Code::unsupported, "2 parts",
                "path");
  refused_after([](GgufWriter& w) { w.add_bool("llama.attention.causal", false); },
                Code::unsupported, "attends to later tokens", "causal");
  refused_after(
      [](GgufWriter& w) {
        w.remove("llama.attention.head_count_kv");
        w.add_i32s("llama.attention.head_count_kv", {1});
      },
      Code::unsupported, "head_count_kv is an array", "same number");
}

TEST_CASE("linear rope scaling divides the frequencies") {
  GgufWriter w = tiny_llama();
  w.add_string("llama.rope.scaling.type", "linear");
  w.add_f32("llama.rope.scaling.factor", 4.0f);
  CHECK(config_of(w).rope.inverse_frequency[4] == 0.0025);

  refused_after([](GgufWriter& x) { x.add_string("llama.rope.scaling.type", "ntk"); },
                Code::unsupported, "scaling type is \"ntk\"", "supported: none, linear");
  refused_after([](GgufWriter& x) { x.add_f32("llama.rope.scaling.factor", -1.0f); }, Code::corrupt,
                "scaling factor is -1", "positive");
}

TEST_CASE("rope_freqs.weight divides the frequencies one by one") {
  TinyLlamaOptions options = smallest();
  options.rope_freqs = true;
  GgufWriter w = tiny_llama(options);
  std::vector<float> factors = {1, 2, 4, 8, 1, 1, 1, 1};
  w.tensor("rope_freqs.weight").data = quantize(factors, model::TensorType::f32);
  const auto scaled = config_of(w).rope.inverse_frequency;
  const auto plain = config_of(tiny_llama(smallest())).rope.inverse_frequency;
  for (size_t i = 0; i < 8; ++i) CHECK(scaled[i] == plain[i] / static_cast<double>(factors[i]));

  factors[3] = 0.0f;
  w.tensor("rope_freqs.weight").data = quantize(factors, model::TensorType::f32);
  check_refused(w, Code::corrupt, "element 3 of tensor rope_freqs.weight is 0", "positive");
  w.tensor("rope_freqs.weight").dims = {4};
  check_refused(w, Code::corrupt, "rope_freqs.weight has 4 elements", "8, one per rotated pair");
}
