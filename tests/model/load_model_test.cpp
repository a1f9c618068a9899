#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "model/model.hpp"
#include "tests/model/model_checks.hpp"
#include "tests/support/test_files.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a model loaded from a file keeps the file mapped") {
  const TemporaryFile file(".gguf");
  make_tiny_llama(file.path());
  auto loaded = model::load_model(file.path());
  REQUIRE(loaded.ok());
  const std::shared_ptr<const model::Model> kept = *loaded;
  loaded = error(Code::cancelled, "");
  std::filesystem::remove(file.path());
  CHECK(kept->mapping != nullptr);
  std::vector<float> row(kept->config.hidden_size);
  dequantize_row(kept->weights.token_embedding, 319, row.data());
  CHECK(*std::ranges::max_element(row) > 0.0f);

  const Bytes bytes = tiny_llama().build();
  CHECK(kept->weights_digest == (*model::parse_model(bytes))->weights_digest);
}

TEST_CASE("errors of load_model name the file") {
  const TemporaryFile file(".gguf");
  auto failed = model::load_model(file.path());
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code == Code::not_found);
  CHECK(failed.error().what.find(file.path()) != std::string::npos);
  write_file(file.path(), Bytes(100, std::byte{'x'}));
  failed = model::load_model(file.path());
  REQUIRE_FALSE(failed.ok());
  check_error(failed.error(), Code::corrupt, file.path() + ": the file begins with \"xxxx\"",
              "\"GGUF\"");
}

TEST_CASE("SmolLM2-135M-Instruct in Q4_1") {
  const auto path = smollm2_path();
  if (!std::filesystem::exists(path)) {
    MESSAGE("SKIPPED: weights/SmolLM2-135M-Instruct.Q4_1.gguf is absent");
    return;
  }
  const auto loaded = model::load_model(path.string());
  REQUIRE(loaded.ok());
  const model::Model& m = **loaded;
  CHECK(m.file_bytes == 98'362'432);
  CHECK(m.config.num_layers == 30);
  CHECK(m.config.hidden_size == 576);
  CHECK(m.config.num_heads == 9);
  CHECK(m.config.num_kv_heads == 3);
  CHECK(m.config.head_dim == 64);
  CHECK(m.config.ffn_size == 1536);
  CHECK(m.config.context_max == 8192);
  CHECK(m.config.vocab_size == 49152);
  CHECK(m.config.tied_embedding);
  CHECK(m.config.rope.base == 100000.0);
  CHECK(m.weights.token_embedding.type == model::TensorType::q8_0);
  CHECK(m.weights.layers[29].ffn.down.type == model::TensorType::q4_1);
  CHECK(m.tokenizer.tokens.size() == 49152);
  CHECK(m.tokenizer.merges.size() == 48900);
  CHECK(m.tokenizer.pre_tokenizer == "smollm");
  CHECK(m.tokenizer.eos_id == 2);
  CHECK(m.tokenizer.stop_ids == std::vector<int32_t>{0, 2});
  CHECK(m.tokenizer.chat_template.starts_with("{% for message in messages %}"));
}

TEST_CASE("the fixtures' GGUF files load") {
  const auto folder = fixtures_dir() / "gguf";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("SKIPPED: the fixtures are absent (TROUPE_FIXTURES)");
    return;
  }
  for (const char* name : {"llama-256-F16", "llama-256-Q4_0", "llama3-rope-F16", "llama3-rope-Q8_0",
                           "llama3-rope-Q4_0", "llama3-rope-Q4_1", "llama3-rope-Q5_0",
                           "llama-256-Q4_K_M", "llama-256-IQ4_XS"}) {
    CAPTURE(name);
    const auto loaded = model::load_model((folder / (std::string(name) + ".gguf")).string());
    REQUIRE(loaded.ok());
    const model::ModelConfig& c = (*loaded)->config;
    CHECK(c.head_dim == 32);
    CHECK((*loaded)->tokenizer.tokens.size() == c.vocab_size);
    CHECK((*loaded)->tokenizer.add_bos);
    const bool scaled = c.rope.inverse_frequency.back() < 1e-5;
    CHECK(scaled == (std::string(name).rfind("llama3", 0) == 0));
  }
  for (const char* name : {"qwen3-F16", "qwen3-Q8_0", "qwen3-moe-F16", "qwen3-moe-MXFP4"}) {
    CAPTURE(name);
    const auto loaded = model::load_model((folder / (std::string(name) + ".gguf")).string());
    REQUIRE(loaded.ok());
    const model::ModelConfig& c = (*loaded)->config;
    CHECK(c.rope.pairing == model::RopePairing::neox);
    CHECK(c.qk_norm == model::QkNorm::per_head);
    CHECK((c.experts.count == 8) == (c.architecture == "qwen3moe"));
  }
}
