// The invariance contract for every capability that families ask for: each with small numbers, so
// that windows, selections and groups matter within 150 tokens.
#include <doctest/doctest.h>

#include "cpu/attention.hpp"
#include "tests/support/all_ways.hpp"
#include "tests/support/tiny_model.hpp"

using namespace troupe;
using testing::TinyParts;

namespace {

void check(const model::ModelConfig& config, const TinyParts& parts = {},
           cpu::ComputeMode mode = cpu::ComputeMode::fast, kv::KvTypes kv_types = {}) {
  cpu::CpuOptions options;
  options.mode = mode;
  options.kv_types = kv_types;
  testing::ways::check_all_ways(testing::make_tiny_model(config, parts), options);
}

model::ModelConfig with_experts() {
  model::ModelConfig c = testing::tiny_config();
  c.experts.count = 8;
  c.experts.per_token = 3;
  c.experts.ffn_size = 32;
  for (model::LayerConfig& layer : c.layers) layer.experts = true;
  return c;
}

model::ModelConfig with_latents() {
  model::ModelConfig c = testing::tiny_config();
  c.rope.dim = 16;
  c.rope.pairing = model::RopePairing::norm;
  c.rope.inverse_frequency = model::rope_inverse_frequencies(100.0, 16);
  c.latent = {.kv_rank = 32, .query_rank = 32, .nope_dim = 24, .value_dim = 32};
  c.num_kv_heads = 1;
  c.head_dim = 48;
  c.attention_scale = 0.16f;
  return c;
}

}  // namespace

TEST_CASE("windows, soft caps, sinks and a second rope: every way gives the same bits") {
  model::ModelConfig c = testing::tiny_config();
  c.local_rope = c.rope;
  c.local_rope.inverse_frequency = model::rope_inverse_frequencies(10.0, 32);
  c.local_rope.attention_factor = 1.25;
  c.layers[0].window = 24;
  c.layers[0].local_rope = true;
  c.attention_cap = 8.0f;
  c.logit_cap = 10.0f;
  TinyParts parts;
  parts.sinks = true;
  check(c, parts);
}

TEST_CASE("gelu, biases, norms of heads and after parts: every way gives the same bits") {
  model::ModelConfig c = testing::tiny_config();
  c.activation = model::Activation::gelu_tanh;
  c.qk_norm = model::QkNorm::per_head;
  c.norm_offset = 1.0f;
  c.embedding_scale = 8.0f;
  c.rope.dim = 16;
  c.rope.inverse_frequency.resize(8);
  c.layers[1].rotates = false;
  TinyParts parts;
  parts.biases = parts.post_norms = true;
  check(c, parts);
  c.qk_norm = model::QkNorm::whole;
  check(c, parts, cpu::ComputeMode::exact);
}

TEST_CASE("experts: every way gives the same bits") {
  model::ModelConfig c = with_experts();
  SUBCASE("softmax over all, renormalised") {
    c.experts.normalized = true;
  }
  SUBCASE("sigmoid among groups, with a shared expert and a dense layer") {
    c.experts.routing = model::Routing::sigmoid;
    c.experts.normalized = true;
    c.experts.groups = 4;
    c.experts.groups_kept = 2;
    c.experts.group_top = 2;
    c.experts.scale = 2.5f;
    c.experts.shared_ffn_size = 64;
    c.layers[0].experts = false;
  }
  SUBCASE("softmax over the chosen, a clamped swiglu") {
    c.experts.routing = model::Routing::chosen_softmax;
    c.activation = model::Activation::clamped_swiglu;
    c.swiglu_limit = 2.0f;
    c.swiglu_alpha = 1.702f;
  }
  TinyParts parts;
  parts.biases = c.experts.routing == model::Routing::chosen_softmax;
  parts.choice_bias = c.experts.routing == model::Routing::sigmoid;
  check(c, parts);
}

TEST_CASE("latent attention: every way gives the same bits") {
  model::ModelConfig c = with_latents();
  check(c);
  c.latent.query_rank = 0;
  check(c, {}, cpu::ComputeMode::exact);
}

TEST_CASE("latents and windows over Q8_0 and BF16: every way gives the same bits") {
  constexpr auto fast = cpu::ComputeMode::fast;
  check(with_latents(), {}, fast, {kv::KvType::q8_0, kv::KvType::q8_0});
  model::ModelConfig c = testing::tiny_config();
  c.layers[0].window = 24;
  check(c, {}, fast, {kv::KvType::bf16, kv::KvType::q8_0});
}

TEST_CASE("latent attention has one type, exact mode and an indexer have f32") {
  cpu::CpuOptions options;
  options.kv_types = {kv::KvType::q8_0, kv::KvType::f16};
  model::ModelConfig c = with_latents();
  const auto mixed = cpu::make_cpu_backend(testing::make_tiny_model(c), options);
  REQUIRE_FALSE(mixed.ok());
  CHECK(mixed.error().code == Code::invalid_argument);
  CHECK(mixed.error().message().find("latent") != std::string::npos);
  c.indexer = {.heads = 4, .dim = 32, .top_k = 40, .pairing = model::RopePairing::neox};
  c.layers[0].selection = model::Selection::own;
  const auto sparse = cpu::make_cpu_backend(testing::make_tiny_model(c), options);
  REQUIRE(sparse.ok());
  CHECK((*sparse)->kv_layout().types() == kv::KvTypes{kv::KvType::f32, kv::KvType::f32});
  options.mode = cpu::ComputeMode::exact;
  const auto exact =
      cpu::make_cpu_backend(testing::make_tiny_model(testing::tiny_config()), options);
  REQUIRE(exact.ok());
  CHECK((*exact)->kv_layout().types() == kv::KvTypes{kv::KvType::f32, kv::KvType::f32});
}

TEST_CASE("sparse attention: every way gives the same bits") {
  model::ModelConfig c = with_latents();
  c.num_layers = 3;
  c.layers.assign(3, {});
  c.indexer = {.heads = 4, .dim = 32, .top_k = 40, .pairing = model::RopePairing::neox};
  c.layers[0].selection = c.layers[2].selection = model::Selection::own;
  c.layers[1].selection = model::Selection::shared;
  check(c);
  check(c, {}, cpu::ComputeMode::exact);
}

TEST_CASE("a block of latent attention holds keys once, and the indexer's where there is one") {
  model::ModelConfig c = with_latents();
  cpu::CpuOptions options;
  const auto plain = cpu::make_cpu_backend(testing::make_tiny_model(c), options);
  REQUIRE(plain.ok());
  CHECK((*plain)->kv_layout().block_bytes() == size_t{2} * 48 * 64 * 2);
  c.indexer = {.heads = 4, .dim = 32, .top_k = 40, .pairing = model::RopePairing::neox};
  c.layers[0].selection = model::Selection::own;
  c.layers[1].selection = model::Selection::shared;
  const auto sparse = cpu::make_cpu_backend(testing::make_tiny_model(c), options);
  REQUIRE(sparse.ok());
  CHECK((*sparse)->kv_layout().block_bytes() == (size_t{2} * 48 + 32) * 64 * 4);
  CHECK((*sparse)->kv_layout().describe() != (*plain)->kv_layout().describe());
}
