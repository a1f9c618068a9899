// Every kind of tokenizer file against the library that made its vectors (tests/data/tokenizers),
// and damaged files.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/folders.hpp"
#include "text/sentence_piece.hpp"
#include "text/tekken.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_file.hpp"
#include "text/tokenizer_json.hpp"
#include "text/utf8.hpp"
#include "text/xz.hpp"

using namespace troupe;
using namespace troupe::text;
using Json = nlohmann::json;

namespace {

const std::string data = testing::source_folder() + "/tests/data/tokenizers";

Json read_json(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

LoadedTokenizer load(const std::string& name) {
  // "FILE with the pre-tokenizer NAME": as if a GGUF file had named it.
  const std::string vocabulary = read_json(data + "/" + name + "/meta.json")["vocabulary"];
  auto loaded = read_tokenizer_file(data + "/" + vocabulary.substr(0, vocabulary.find(' ')), {});
  REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().message()));
  if (vocabulary.find(' ') != std::string::npos) {
    loaded->spec.pre_tokenizer = vocabulary.substr(vocabulary.rfind(' ') + 1);
  }
  return *loaded;
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    // own-gguf is read in tests/model: this folder knows no model files.
    const bool gguf = entry.path().filename() == "own-gguf";
    if (!gguf && std::filesystem::exists(entry.path() / "cases.jsonl")) {
      found.push_back(entry.path().filename().string());
    }
  }
  return found;
}

void check_case(const Json& c, const std::string& name, const Tokenizer& tokenizer, bool parses) {
  const auto ids = c["ids"].get<std::vector<int32_t>>();
  CHECK_MESSAGE(*tokenizer.decode_text(ids) == c["decoded"].get<std::string>(),
                name << " decodes " << c.dump());
  if (c["text"].is_null()) return;
  const std::string handling = c["special_handling"];
  const auto got = tokenizer.encode(
      c["text"].get<std::string>(),
      {.parse_special = parses && handling != "plain", .add_special = handling == "parse+add"});
  REQUIRE(got.ok());
  CHECK_MESSAGE(*got == ids, name << " encodes " << c.dump());
}

/// Any file is refused with a reason or gives a tokenizer that works.
void use_or_refuse(const Result<TokenizerSpec>& spec) {
  if (!spec.ok()) {
    CHECK_FALSE(spec.error().what.empty());
    return;
  }
  const auto tokenizer = Tokenizer::make(*spec);
  if (!tokenizer.ok()) return;
  const auto ids = (*tokenizer)->encode("Hello, wörld 12 <tool> 🙂", {.parse_special = true});
  if (ids.ok()) CHECK((*tokenizer)->decode_text(*ids).ok());
}

std::string bytes_of(const std::string& file) {
  const auto bytes = read_unpacked(data + "/vocab/" + file);
  REQUIRE(bytes.ok());
  return *bytes;
}

}  // namespace

TEST_CASE("every kind of file gives the ids and texts of the library that made its vectors") {
  size_t files = 0;
  for (const std::string& name : names()) {
    const LoadedTokenizer loaded = load(name);
    const auto tokenizer = Tokenizer::make(loaded.spec);
    REQUIRE_MESSAGE(tokenizer.ok(), name);
    const bool parses = !read_json(data + "/" + name + "/meta.json")["special_tokens"].empty();
    std::ifstream cases(data + "/" + name + "/cases.jsonl");
    std::string line;
    int count = 0;
    while (std::getline(cases, line)) {
      check_case(Json::parse(line), name, **tokenizer, parses);
      ++count;
    }
    CHECK(count > 70);
    ++files;
  }
  CHECK(files == 31);
}

TEST_CASE("text survives where nothing normalises it") {
  std::mt19937 random(3);
  constexpr const char* parts[] = {"a",      "Z",       " ", "  ",     "\n",   "\t",
                                   "1",      "ß",       "я", "你",     "🙂", "\u2581",
                                   "<tool>", "<|end|>", "_", "\u0001", "'"};
  for (const std::string name : {"own-spm-bpe", "own-sentence-piece-bpe", "own-tekken"}) {
    const LoadedTokenizer loaded = load(name);
    const auto tokenizer = *Tokenizer::make(loaded.spec);
    for (int round = 0; round < 300; ++round) {
      std::string text;
      for (size_t count = random() % 30; count > 0; --count) {
        text += parts[random() % std::size(parts)];
      }
      const auto ids = *tokenizer->encode(text);
      // What stands for a space cannot be told from one.
      std::string expected = text;
      if (name != "own-tekken") {
        for (size_t at; (at = expected.find("\u2581")) != std::string::npos;) {
          expected.replace(at, 3, " ");
        }
      }
      const std::string decoded = *tokenizer->decode(ids);
      // A user-defined token begins a new section, which gets a space of its own (as in Hugging
      // Face's legacy form).
      if (name == "own-spm-bpe" && text.find("<tool>") != std::string::npos) continue;
      CHECK_MESSAGE(decoded == expected, name << ": " << text);
    }
  }
}

TEST_CASE("what was encoded and decoded encodes to the same ids, for random characters") {
  std::mt19937_64 random(5);
  constexpr std::pair<uint32_t, uint32_t> ranges[] = {
      {' ', '~'},       {' ', ' '},         {'\t', '\r'},       {0xa0, 0x24f},
      {0x300, 0x36f},   {0x400, 0x52f},     {0x590, 0x6ff},     {0x900, 0xdff},
      {0x1e00, 0x2bff}, {0x3000, 0x30ff},   {0x4e00, 0x9fff},   {0xac00, 0xd7a3},
      {0xe000, 0xf8ff}, {0x1f300, 0x1f9ff}, {0x20000, 0x2a6df}, {0xe0100, 0x10ffff},
      {'a', 'z'},       {'0', '9'}};
  size_t files = 0;
  for (const std::string& name : names()) {
    const LoadedTokenizer loaded = load(name);
    // Others replace, trim or leave out characters, and cannot give them back.
    const bool keeps = name.starts_with("own-pre-") || name == "own-byte-bpe" ||
                       name == "own-tekken" || name == "own-sentence-piece-bpe";
    if (!keeps) continue;
    ++files;
    const auto tokenizer = *Tokenizer::make(loaded.spec);
    for (int round = 0; round < 200; ++round) {
      std::string text;
      for (uint64_t count = random() % 40; count > 0; --count) {
        const auto [first, last] = ranges[random() % std::size(ranges)];
        append_utf8(text, first + static_cast<uint32_t>(random() % (last - first + 1)));
      }
      const auto ids = *tokenizer->encode(text);
      const std::string decoded = *tokenizer->decode(ids);
      CHECK_MESSAGE(*tokenizer->encode(decoded) == ids, name << ": " << text);
    }
  }
  CHECK(files > 20);
}

TEST_CASE("damaged files are refused or used, never a crash") {
  std::mt19937 random(4);
  const std::string model = bytes_of("own-sentence-piece-unigram.model");
  const std::string tekken = bytes_of("own-tekken.json");
  const std::string json = bytes_of("own-unigram.tokenizer.json");
  for (size_t size = 0; size < model.size(); size += 97) {
    use_or_refuse(read_sentence_piece(model.substr(0, size)));
  }
  for (int round = 0; round < 60; ++round) {
    for (const std::string* whole : {&model, &tekken, &json}) {
      std::string broken = *whole;
      for (int changes = 0; changes < 4; ++changes) {
        broken[random() % broken.size()] = static_cast<char>(random());
      }
      if (whole == &model) use_or_refuse(read_sentence_piece(broken));
      if (whole == &tekken) use_or_refuse(read_tekken(broken));
      if (whole == &json) use_or_refuse(read_tokenizer_json(broken));
    }
  }
}

TEST_CASE("errors say what is wrong") {
  const auto reason = [](std::string_view json) {
    const auto spec = read_tokenizer_json(json);
    return spec.ok() ? std::string("accepted") : spec.error().message();
  };
  CHECK(reason("{") == "tokenizer.json is no JSON");
  CHECK(reason("[]") == "tokenizer.json is no JSON object");
  CHECK(reason("{}").find("there is no model") != std::string::npos);
  CHECK(reason(R"({"model": {"type": "WordLevel", "vocab": {}}})").find("supported are BPE") !=
        std::string::npos);
  const std::string head = R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, )";
  CHECK(reason(head + R"("normalizer": {"type": "Magic"}})").find("\"Magic\" is not supported") !=
        std::string::npos);
  CHECK(reason(head + R"("pre_tokenizer": {"type": "UnicodeScripts"}})").find("ByteLevel") !=
        std::string::npos);
  CHECK(reason(head + R"("added_tokens": [{"id": -4, "content": "x"}]})").find("has the id -4") !=
        std::string::npos);
  CHECK(reason(head + R"("post_processor": {"type": "BertProcessing", "cls": ["a", 7]}})")
            .find("names the id 7") != std::string::npos);
  CHECK(read_tekken("{}").error().what == "tekken.json: it has no config or no vocab");
  CHECK(read_sentence_piece("\xff\xff").error().code == Code::corrupt);
  CHECK(read_tokenizer_file("/nowhere/tokenizer.json", {}).error().code == Code::not_found);
}

TEST_CASE("no kind of tokenizer needs more than linear work for a text without a break") {
  constexpr size_t bytes = 1 << 16;
  std::mt19937 random(5);
  std::string letters;
  while (letters.size() < bytes) letters += static_cast<char>('a' + random() % 26);
  for (const std::string& name : names()) {
    const LoadedTokenizer loaded = load(name);
    const auto tokenizer = *Tokenizer::make(loaded.spec);
    for (const std::string& text : {letters, std::string(bytes, 'a'), std::string(bytes, ' '),
                                    std::string(bytes, '\n'), std::string(bytes, '1')}) {
      const uint64_t before = tokenizer->merge_lookups();
      const auto ids = tokenizer->encode(text);
      REQUIRE_MESSAGE(ids.ok(), name << (ids.ok() ? "" : ids.error().message()));
      CHECK_MESSAGE(tokenizer->merge_lookups() - before <= 3 * text.size() + 16, name);
      CHECK(tokenizer->decode_text(*ids).ok());
    }
  }
}

TEST_CASE("the ends of a generation come from the tokenizer's file and from what lies beside it") {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("troupe-stop-tokens-" + std::to_string(std::random_device()()));
  fs::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  };
  const auto stops = [&] {
    const auto loaded = read_tokenizer_file(folder.string(), {});
    return loaded.ok() ? Json(loaded->spec.stop_ids).dump() : loaded.error().what;
  };
  write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3},
    "merges": []}, "added_tokens": [
      {"id": 3, "content": "d", "special": true},
      {"id": 4, "content": "<|im_end|>", "special": true},
      {"id": 5, "content": "<|EOT|>", "special": false},
      {"id": 6, "content": "<x>", "special": true}
    ]})");
  CHECK(stops() == "[4,5]");
  write("tokenizer_config.json", R"({"eos_token": {"content": "d"}})");
  CHECK(stops() == "[3,4,5]");
  write("generation_config.json", R"({"eos_token_id": [2, 4]})");
  CHECK(stops() == "[2,3,4,5]");
  write("generation_config.json", R"({"eos_token_id": 6})");
  CHECK(stops() == "[3,4,5,6]");
  write("generation_config.json", R"({"eos_token_id": null})");
  CHECK(stops() == "[3,4,5]");
  for (const char* bad : {R"({"eos_token_id": 7})", R"({"eos_token_id": [-1]})",
                          R"({"eos_token_id": "x"})", R"({"eos_token_id": 1e99})"}) {
    write("generation_config.json", bad);
    CHECK(stops().find("generation_config.json: eos_token_id has") != std::string::npos);
  }
  write("generation_config.json", "[");
  CHECK(stops().find("no JSON object") != std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("stop ids of sentencepiece and tekken files") {
  const auto stops = [](const char* name) {
    const LoadedTokenizer loaded = load(name);
    std::string all;
    for (const int32_t id : loaded.spec.stop_ids) {
      all += loaded.spec.tokens[static_cast<size_t>(id)] + " ";
    }
    return all;
  };
  CHECK(stops("own-sentence-piece-bpe") == "</s> <|end|> ");
  CHECK(stops("own-tekken") == "</s> ");
  CHECK(stops("own-byte-bpe") == "<|end|> ");
}

TEST_CASE("xz files are unpacked within limits") {
  std::ifstream file(data + "/vocab/own-byte-bpe.tokenizer.json.xz", std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(file)), {});
  REQUIRE(is_xz(packed));
  const auto whole = unpack_xz(packed, 1 << 20);
  REQUIRE(whole.ok());
  CHECK(whole->starts_with("{\"version\""));
  CHECK(unpack_xz(packed, whole->size()).ok());
  CHECK(unpack_xz(packed, whole->size() - 1).error().code == Code::exhausted);
  CHECK(unpack_xz(packed.substr(0, packed.size() / 2), 1 << 20).error().code == Code::corrupt);
  std::string broken = packed;
  broken[packed.size() / 2] = static_cast<char>(broken[packed.size() / 2] ^ 0x55);
  CHECK_FALSE(unpack_xz(broken, 1 << 20).ok());
}
