// A vocabulary-only GGUF file, packed with xz, against Hugging Face's ids (tests/data/tokenizers).
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/gguf_tokenizer.hpp"
#include "tests/support/folders.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_file.hpp"

using namespace troupe;

TEST_CASE("a packed vocabulary-only GGUF file gives the ids of the library") {
  const std::string data = testing::source_folder() + "/tests/data/tokenizers";
  const auto loaded =
      text::read_tokenizer_file(data + "/vocab/own-vocabulary.gguf.xz",
                                {model::read_vocabulary_file, model::read_vocabulary});
  REQUIRE(loaded.ok());
  CHECK(loaded->kind == text::TokenizerFile::gguf);
  CHECK(loaded->spec.pre_tokenizer == "llama-bpe");
  REQUIRE(loaded->spec.stop_ids.size() == 1);
  CHECK(loaded->spec.tokens[static_cast<size_t>(loaded->spec.stop_ids[0])] == "<|end|>");
  const auto tokenizer = *text::Tokenizer::make(loaded->spec);
  std::ifstream lines(data + "/own-gguf/cases.jsonl");
  std::string line;
  int count = 0;
  for (; std::getline(lines, line); ++count) {
    const auto c = nlohmann::json::parse(line);
    const auto ids = c["ids"].get<std::vector<int32_t>>();
    CHECK_MESSAGE(*tokenizer->decode_text(ids) == c["decoded"].get<std::string>(), line);
    if (c["text"].is_null()) continue;
    const auto got = tokenizer->encode(c["text"].get<std::string>(),
                                       {.parse_special = c["special_handling"] != "plain"});
    REQUIRE(got.ok());
    CHECK_MESSAGE(*got == ids, line);
  }
  CHECK(count > 80);
}
