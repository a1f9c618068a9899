#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/concat.hpp"
#include "cpu/pack_file.hpp"
#include "cpu/pack_writer.hpp"
#include "tests/support/cluster_program.hpp"
#include "tests/support/cpu_sequence.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/tiny_llama.hpp"

using namespace troupe;
using namespace troupe::cpu;
using model::TensorType;
using testing::TemporaryFolder;

namespace {

std::shared_ptr<const model::Model> model_of(TensorType type, uint32_t seed = 1) {
  testing::TinyLlamaShape shape;
  shape.matrices = type;
  shape.hidden_size = 256;
  shape.num_heads = 8;
  shape.ffn_size = 512;
  shape.seed = seed;
  auto made = std::make_shared<model::Model>(*testing::make_tiny_llama(shape));
  made->weights_digest = sha256(concat("weights ", seed));
  return made;
}

std::shared_ptr<const PackFile> pack_of(const std::shared_ptr<const model::Model>& model,
                                        ComputeMode mode, const std::string& path) {
  ThreadPool pool(2);
  const auto written = write_pack(model, mode, path, pool);
  REQUIRE_MESSAGE(written.ok(), (written ? std::string() : written.error().message()));
  const auto pack = PackFile::open(path);
  REQUIRE(pack.ok());
  CHECK((*pack)->rows().size() == written->matrices);
  CHECK(std::filesystem::file_size(path) == written->bytes);
  return *pack;
}

/// Log-probabilities of some tokens of a prompt.
std::vector<float> answer(const std::shared_ptr<const model::Model>& model,
                          const CpuOptions& options) {
  const auto backend = make_cpu_backend(model, options);
  REQUIRE(backend.ok());
  testing::attach_poisoned_pool(**backend, 128);
  const auto tokens = testing::random_tokens(40, model->config.vocab_size, 3);
  auto span = testing::make_span(tokens, 0, tokens.size(), testing::pages_from(0, 2));
  span.score_targets = tokens;
  return testing::run_step(**backend, {span})[0].scores;
}

CpuOptions from(const std::shared_ptr<const PackFile>& pack, ComputeMode mode = ComputeMode::fast,
                PackUse use = PackUse::map) {
  CpuOptions options;
  options.mode = mode;
  options.pack = pack;
  options.pack_use = use;
  return options;
}

TEST_CASE("pack: matrices are in it as they are in memory, in both modes") {
  const TemporaryFolder folder;
  for (const ComputeMode mode : {ComputeMode::fast, ComputeMode::exact}) {
    for (const TensorType type : {TensorType::f32, TensorType::f16, TensorType::bf16,
                                  TensorType::q8_0, TensorType::q4_0, TensorType::q4_1}) {
      const auto model = model_of(type);
      ThreadPool pool(1);
      const auto pack = pack_of(model, mode, folder.path("pack"));
      CHECK(pack->verify(pool).ok());
      const auto here = pack_model(model, mode, pool);
      REQUIRE(here.ok());
      const auto same = [](const PackedMatrix& a, const PackedMatrix& b) {
        return a.bytes() == b.bytes() &&
               std::memcmp(a.view().panels, b.view().panels, a.bytes()) == 0;
      };
      for (const PackUse use : {PackUse::map, PackUse::copy}) {
        const auto there = use_pack(model, from(pack, mode, use), pool);
        REQUIRE(there.ok());
        CHECK(same(here->output, there->output));
        for (size_t i = 0; i < here->layers.size(); ++i) {
          CHECK(same(here->layers[i].query, there->layers[i].query));
          CHECK(same(here->layers[i].attention_output, there->layers[i].attention_output));
          CHECK(same(here->layers[i].ffn.down, there->layers[i].ffn.down));
        }
      }
    }
  }
}

TEST_CASE("pack: a damaged one is told, and what was asked for is packed again") {
  const TemporaryFolder folder;
  const auto model = model_of(TensorType::q4_1);
  pack_of(model, ComputeMode::fast, folder.path("whole"));
  const std::string whole = testing::read_text(folder.path("whole"));
  const uint64_t table = PackFile::open(folder.path("whole")).value()->head().table_offset;
  ThreadPool pool(2);
  const auto problem = [&](const std::string& bytes) -> std::string {
    folder.write("damaged", bytes);
    const auto pack = PackFile::open(folder.path("damaged"));
    if (!pack) return pack.error().message();
    const auto used = use_pack(model, from(*pack), pool);
    return used ? std::string() : used.error().message();
  };
  REQUIRE(problem(whole).empty());
  for (size_t at = 0; at < whole.size(); at += at < pack_head_bytes || at >= table ? 1 : 4099) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
    INFO(at);
    // What fills the way to the next line belongs to no matrix.
    if (at >= pack_head_bytes && at < table && problem(flipped).empty()) continue;
    CHECK(problem(flipped).find("damaged") != std::string::npos);
  }
  for (const size_t size : {size_t{1}, size_t{127}, size_t{128}, size_t{4096}, whole.size() - 1}) {
    CHECK_FALSE(problem(whole.substr(0, size)).empty());
  }
  CHECK_FALSE(problem(whole + "more").empty());

  std::string flipped = whole;
  flipped[pack_head_bytes + 64] ^= 1;
  folder.write("damaged", flipped);
  CpuOptions options;
  const auto wanted = answer(model, options);
  REQUIRE(wanted.size() == 40);
  options.pack = PackFile::open(folder.path("damaged")).value();
  CHECK(answer(model, options) == wanted);
  options.pack = PackFile::open(folder.path("whole")).value();
  CHECK(answer(model, options) == wanted);
}

TEST_CASE("pack: of other weights, another mode or another shape it is refused") {
  const TemporaryFolder folder;
  const auto model = model_of(TensorType::q8_0);
  const auto pack = pack_of(model, ComputeMode::fast, folder.path("pack"));
  ThreadPool pool(1);
  const auto code = [&](const std::shared_ptr<const model::Model>& other, ComputeMode mode) {
    const auto used = use_pack(other, from(pack, mode), pool);
    REQUIRE_FALSE(used.ok());
    return used.error().code;
  };
  CHECK(code(model_of(TensorType::q8_0, 2), ComputeMode::fast) == Code::failed_precondition);
  CHECK(code(model, ComputeMode::exact) == Code::failed_precondition);
  auto narrower = std::make_shared<model::Model>(*model_of(TensorType::q4_0));
  narrower->weights_digest = model->weights_digest;
  CHECK(code(narrower, ComputeMode::fast) == Code::corrupt);
  auto shorter = std::make_shared<model::Model>(*model);
  shorter->config.num_layers = 3;
  shorter->weights.layers.push_back(model->weights.layers[0]);
  CHECK(code(shorter, ComputeMode::fast) == Code::corrupt);
}

TEST_CASE("pack: it knows the digest of the very files that it was made of, and of no others") {
  const TemporaryFolder folder;
  folder.write("weights", std::string("some weights"));
  auto model = std::make_shared<model::Model>(*model_of(TensorType::q8_0));
  model->files = {folder.path("weights")};
  const auto pack = pack_of(model, ComputeMode::fast, folder.path("pack"));
  REQUIRE(pack->digest_of(model->files));
  CHECK(*pack->digest_of(model->files) == model->weights_digest);
  CHECK_FALSE(pack->digest_of({}));
  CHECK_FALSE(pack->digest_of({folder.path("weights"), folder.path("weights")}));
  CHECK_FALSE(pack->digest_of({folder.path("absent")}));
  const auto time = std::filesystem::last_write_time(folder.path("weights"));
  folder.write("weights", std::string("same length!"));
  std::filesystem::last_write_time(folder.path("weights"), time);
  CHECK_FALSE(pack->digest_of(model->files));
}

TEST_CASE("pack: it takes the place of an older one in one step, and a refusal leaves nothing") {
  const TemporaryFolder folder;
  const auto first = pack_of(model_of(TensorType::q8_0), ComputeMode::fast, folder.path("pack"));
  const auto second =
      pack_of(model_of(TensorType::q4_1, 2), ComputeMode::fast, folder.path("pack"));
  ThreadPool pool(1);
  CHECK(first->verify(pool).ok());
  CHECK(first->head().weights != second->head().weights);
  const auto refused =
      write_pack(model_of(TensorType::q8_0), ComputeMode::fast, folder.path("none/pack"), pool);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().hint.find("--output") != std::string::npos);
  auto broken = std::make_shared<model::Model>(*model_of(TensorType::q8_0));
  broken->weights.layers[1].ffn.up = {};
  CHECK_FALSE(write_pack(broken, ComputeMode::fast, folder.path("broken"), pool).ok());
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("pack: where it lies is seen from the model's path") {
  const TemporaryFolder folder;
  CHECK(pack_path("a/model.gguf", ComputeMode::fast) == "a/model.gguf.pack");
  CHECK(pack_path("a/model.gguf", ComputeMode::exact) == "a/model.gguf.exact.pack");
  CHECK(pack_path(folder.path(), ComputeMode::fast) == folder.path("troupe.pack"));
  CHECK(find_pack(folder.path(), ComputeMode::fast) == nullptr);
  folder.write("troupe.pack", std::string("no pack"));
  CHECK(find_pack(folder.path(), ComputeMode::fast) == nullptr);
}

}  // namespace
