// SmolLM2's tokenizer and chat template, from its GGUF, against the fixtures.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "model/model.hpp"
#include "tests/support/test_files.hpp"
#include "text/chat_template.hpp"
#include "text/tokenizer.hpp"

using namespace troupe;
using namespace troupe::text;

namespace {

const std::string fixtures = testing::fixtures_dir().string();
const std::string model_path = testing::smollm2_path().string();

/// Says why the test cannot run, once.
bool present() {
  for (const std::string& path : {fixtures + "/tokenizers", model_path}) {
    if (std::filesystem::exists(path)) continue;
    MESSAGE("SKIPPED: " << path << " is absent");
    return false;
  }
  return true;
}

const TokenizerSpec& smollm2_spec() {
  static const auto model = *model::load_model(model_path);
  return model->tokenizer;
}

bool encodes(const Tokenizer& tokenizer, const Json& c) {
  if (c["text"].is_null()) return true;
  const std::string handling = c["special_handling"];
  const auto ids = tokenizer.encode(
      c["text"].get<std::string>(),
      {.parse_special = handling != "plain", .add_special = handling == "parse+add"});
  return ids.ok() && *ids == c["ids"].get<std::vector<int32_t>>();
}

bool decodes(const Tokenizer& tokenizer, const Json& c) {
  const auto text = tokenizer.decode_text(c["ids"].get<std::vector<int32_t>>());
  return text.ok() && *text == c["decoded"].get<std::string>();
}

}  // namespace

TEST_CASE("SmolLM2's tokenizer gives the ids and texts of the fixtures") {
  if (!present()) return;
  const auto tokenizer = *Tokenizer::make(smollm2_spec());
  std::ifstream cases(fixtures + "/tokenizers/smollm2/cases.jsonl");
  std::string line;
  int count = 0;
  while (std::getline(cases, line)) {
    const Json c = Json::parse(line);
    CHECK_MESSAGE(encodes(*tokenizer, c), "encode " << line);
    CHECK_MESSAGE(decodes(*tokenizer, c), "decode " << line);
    ++count;
  }
  CHECK(count == 368);
}

TEST_CASE("SmolLM2's chat template and tokenizer give the reference prompts") {
  if (!present()) return;
  const TokenizerSpec& spec = smollm2_spec();
  const auto tokenizer = *Tokenizer::make(spec);
  const auto chat_template = *ChatTemplate::parse(spec.chat_template);
  std::ifstream file(fixtures + "/smollm2/reference.json");
  const Json reference = Json::parse(file);
  int chats = 0;
  for (const Json& prompt : reference["prompts"]) {
    if (prompt["kind"] != "chat") continue;
    RenderInput input;
    input.messages = prompt["input"];
    input.bos_token = tokenizer->token_bytes(tokenizer->bos_id());
    input.eos_token = tokenizer->token_bytes(tokenizer->eos_id());
    const std::string text = *chat_template.render(input);
    CHECK(text == prompt["text"].get<std::string>());
    CHECK(*tokenizer->encode(text, {.parse_special = true}) ==
          prompt["ids"].get<std::vector<int32_t>>());
    ++chats;
  }
  CHECK(chats > 0);
}
