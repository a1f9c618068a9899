#include "cli/inspection.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "tests/support/gguf_writer.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::cli;
using namespace troupe::testing;

namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a GGUF model that can be served") {
  const TemporaryFolder folder;
  TinyLlamaOptions options;
  options.type = model::TensorType::q8_0;
  make_tiny_llama(folder.path("m.gguf"), options);
  const auto inspected = inspect_model(folder.path("m.gguf"));
  REQUIRE(inspected.ok());
  const auto json = inspection_json(*inspected);
  CHECK(json["served"] == true);
  CHECK(json["refusal"].is_null());
  CHECK(json["format"] == "GGUF version 3");
  CHECK(json["architecture"] == "llama");
  CHECK(json["config"]["layers"] == 2);
  CHECK(json["config"]["context"] == 2048);
  CHECK(json["config"]["rope"]["base"] == 10000.0);
  CHECK(json["config"]["rope"]["scaling"] == "none");
  CHECK(json["tokenizer"] == "byte-level BPE (smollm)");
  CHECK(json["chat_template"] == true);
  REQUIRE(json["types"].size() == 2);
  CHECK(json["types"][0]["stored"] == "Q8_0");
  CHECK(json["types"][0]["computed"] == "Q8_0");
  // 2 matrices of 320 x 64, and in each of 2 layers 64 x (64 + 32 + 32 + 64) + 3 x 64 x 96.
  CHECK(json["types"][0]["parameters"] == 2 * 320 * 64 + 2 * (64 * 192 + 3 * 64 * 96));
  // 2 layers, 2 heads of 16 elements, K and V, 2 bytes.
  CHECK(json["memory"]["kv"][0]["tokens"] == 4096);
  CHECK(json["memory"]["kv"][0]["f16_bytes"] == 4096 * 2 * 2 * 16 * 2 * 2);
  CHECK(json["memory"]["exact_weight_bytes"] > json["memory"]["fast_weight_bytes"]);
  const std::string text = inspection_text(*inspected);
  CHECK(holds(text, "served        yes"));
  CHECK(holds(text, "(beyond its context)"));
}

TEST_CASE("models that cannot be served say why, and what could be seen of them") {
  const TemporaryFolder folder;
  GgufWriter writer = tiny_llama({});
  writer.tensor("blk.0.attn_v.weight").type = 36;
  folder.write("type.gguf", writer.build());
  auto inspected = inspect_model(folder.path("type.gguf"));
  REQUIRE(inspected.ok());
  CHECK(inspected->architecture == "llama");
  CHECK(inspected->parameters > 0u);
  REQUIRE(inspected->refusal);
  CHECK(holds(inspected->refusal->what, "\"blk.0.attn_v.weight\" has the type type 36"));
  CHECK(holds(inspection_text(*inspected), "served        no: "));

  writer = tiny_llama({});
  writer.pairs.erase(writer.pairs.begin());
  writer.add_string("general.architecture", "no\x1b[31msuch");
  folder.write("architecture.gguf", writer.build());
  inspected = inspect_model(folder.path("architecture.gguf"));
  REQUIRE(inspected.ok());
  REQUIRE(inspected->refusal);
  CHECK_FALSE(inspection_json(*inspected)["served"].get<bool>());
  // A terminal is not at the mercy of a file.
  CHECK_FALSE(holds(inspection_text(*inspected), "\x1b"));

  folder.write("cut.gguf", std::string("GGUF\x03", 5));
  inspected = inspect_model(folder.path("cut.gguf"));
  REQUIRE(inspected.ok());
  CHECK(inspected->refusal->code == Code::corrupt);
}

TEST_CASE("a safetensors file alone, and a folder without weights") {
  const TemporaryFolder folder;
  SafetensorsWriter writer;
  writer.add("a.weight", "BF16", "[4, 8]", Bytes(64)).add("ids", "I64", "[2]", Bytes(16));
  folder.write("model.safetensors", writer.build());
  auto inspected = inspect_model(folder.path("model.safetensors"));
  REQUIRE(inspected.ok());
  CHECK(inspected->format == "safetensors file");
  CHECK(inspected->types.size() == 2);
  CHECK(inspected->parameters == 34u);
  CHECK(holds(inspected->refusal->hint, "config.json"));

  CHECK(inspect_model(folder.path()).error().code == Code::not_found);
  CHECK(holds(inspect_model(folder.path()).error().hint, "config.json"));
  folder.write("config.json", std::string(R"({"model_type": "unheard"})"));
  inspected = inspect_model(folder.path());
  REQUIRE(inspected.ok());
  CHECK(inspected->architecture == "unheard");
  CHECK(inspected->files == 1u);
  CHECK(inspected->types.size() == 2);
  CHECK(inspected->refusal);
  CHECK(inspect_model(folder.path("absent")).error().code == Code::not_found);
}
