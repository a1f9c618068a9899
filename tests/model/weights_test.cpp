#include <doctest/doctest.h>

#include <functional>

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

Digest digest_of(const GgufWriter& writer) {
  const Bytes bytes = writer.build();
  const auto parsed = model::parse_model(bytes);
  REQUIRE(parsed.ok());
  return (*parsed)->weights_digest;
}

}  // namespace

TEST_CASE("weights are views with rows and columns in every stored type") {
  for (const auto type :
       {model::TensorType::f32, model::TensorType::f16, model::TensorType::bf16,
        model::TensorType::q8_0, model::TensorType::q4_0, model::TensorType::q4_1}) {
    TinyLlamaOptions options;
    options.type = type;
    options.kv_heads = 1;
    const Bytes bytes = tiny_llama(options).build();
    const auto parsed = model::parse_model(bytes);
    REQUIRE(parsed.ok());
    const model::Weights& w = (*parsed)->weights;
    REQUIRE(w.layers.size() == 2);
    CHECK(w.token_embedding.rows == 320);
    CHECK(w.token_embedding.cols == 64);
    CHECK(w.output.name == "output.weight");
    CHECK(w.layers[1].key.rows == 16);
    CHECK(w.layers[1].ffn.down.rows == 64);
    CHECK(w.layers[1].ffn.down.cols == 96);
    CHECK(w.layers[1].ffn.down.type == type);
    CHECK(w.layers[1].ffn.down.name == "blk.1.ffn_down.weight");
    CHECK(w.layers[0].ffn_norm.type == model::TensorType::f32);
    CHECK(w.layers[0].ffn_norm.rows == 1);
    CHECK(w.layers[0].ffn_norm.present());
    CHECK((*parsed)->file_bytes == bytes.size());
  }
}

TEST_CASE("a file without output.weight has its embedding tied") {
  TinyLlamaOptions options = smallest();
  options.tied = true;
  const Bytes bytes = tiny_llama(options).build();
  const auto parsed = model::parse_model(bytes);
  REQUIRE(parsed.ok());
  CHECK((*parsed)->config.tied_embedding);
  CHECK((*parsed)->weights.output.data == (*parsed)->weights.token_embedding.data);
}

TEST_CASE("tensors that are missing, misshapen or too many") {
  refused_after([](GgufWriter& w) { w.remove_tensor("blk.0.ffn_up.weight"); }, Code::corrupt,
                "blk.0.ffn_up.weight is missing", "[32, 32]");
  refused_after([](GgufWriter& w) { w.set_u32("llama.block_count", 2); }, Code::corrupt,
                "blk.1.attn_norm.weight is missing", "[32]");
  refused_after(
      [](GgufWriter& w) {
        w.tensor("blk.0.attn_k.weight").dims = {32, 8};
      },
      Code::corrupt, "blk.0.attn_k.weight has the shape [8, 32]", "[16, 32]");
  refused_after([](GgufWriter& w) { w.set_u32("llama.vocab_size", 9); }, Code::corrupt,
                "token_embd.weight has the shape [8, 32]", "[9, 32]");
  refused_after([](GgufWriter& w) { w.add_tensor("blk.0.attn_q.gate", {32}, 0, Bytes(128)); },
                Code::unsupported, "\"blk.0.attn_q.gate\"", "wrong text");
}

TEST_CASE("a type that cannot be read is named together with those that can") {
  refused_after([](GgufWriter& w) { w.tensor("blk.0.attn_v.weight").type = 24; }, Code::unsupported,
                "tensor blk.0.attn_v.weight has the type I8", "supported: F32, F16, BF16");
  refused_after([](GgufWriter& w) { w.tensor("blk.0.attn_v.weight").type = 999; },
                Code::unsupported, "type 999", "supported: F32");
}

TEST_CASE("the digest follows names, types and bytes, not order or metadata") {
  const GgufWriter original = tiny_llama(smallest());
  const Digest digest = digest_of(original);

  GgufWriter other = original;
  std::swap(other.tensors[0], other.tensors[1]);
  other.add_string("general.author", "somebody");
  CHECK(digest_of(other) == digest);

  other = original;
  other.tensors.back().data.back() ^= std::byte{1};
  CHECK(digest_of(other) != digest);

  // Two matrices of one shape change places.
  other = original;
  std::swap(other.tensor("blk.0.ffn_up.weight").data, other.tensor("blk.0.ffn_gate.weight").data);
  CHECK(digest_of(other) != digest);
}
