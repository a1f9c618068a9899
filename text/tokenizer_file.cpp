#include "text/tokenizer_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/concat.hpp"
#include "text/sentence_piece.hpp"
#include "text/tekken.hpp"
#include "text/text_limits.hpp"
#include "text/tokenizer_json.hpp"
#include "text/xz.hpp"

namespace troupe::text {

namespace {

namespace fs = std::filesystem;

Result<std::string> read_bytes(const fs::path& path, size_t bytes_max) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return error(Code::not_found, concat(path.string(), ": cannot be read"));
  std::string bytes;
  std::array<char, 64 << 10> block;
  while (file.read(block.data(), block.size()) || file.gcount() > 0) {
    bytes.append(block.data(), static_cast<size_t>(file.gcount()));
    if (bytes.size() > bytes_max) {
      return error(Code::exhausted, concat(path.string(), ": the file is too large"),
                   concat("at most ", bytes_max, " bytes"));
    }
  }
  return bytes;
}

/// Such a file may be as large as a model; it is mapped and not read.
bool begins_as_gguf(const fs::path& path) {
  std::array<char, 4> magic{};
  std::ifstream file(path, std::ios::binary);
  return file.read(magic.data(), magic.size()) &&
         std::string_view(magic.data(), magic.size()) == "GGUF";
}

/// "" if there is no such file.
std::string read_if_there(const fs::path& path) {
  auto bytes = read_bytes(path, limits::template_bytes_max);
  return bytes.ok() ? std::move(bytes).value() : std::string();
}

Result<fs::path> find_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return fs::path(path);
  for (const char* name : {"tokenizer.json", "tekken.json", "tokenizer.model"}) {
    if (fs::exists(fs::path(path) / name, ignored)) return fs::path(path) / name;
  }
  return error(Code::not_found, concat(path, ": the folder has no tokenizer"),
               "tokenizer.json, tekken.json or tokenizer.model");
}

Result<LoadedTokenizer> read_json(const std::string& bytes, const fs::path& folder) {
  LoadedTokenizer loaded;
  // Only tekken.json has a "config", and tokenizer.json has a "model"; both lie at its beginning
  // or its end, so the reader decides.
  if (bytes.find("\"token_bytes\"") != std::string::npos) {
    loaded.kind = TokenizerFile::tekken;
    TROUPE_ASSIGN(loaded.spec, read_tekken(bytes));
    return loaded;
  }
  loaded.kind = TokenizerFile::tokenizer_json;
  TROUPE_ASSIGN(loaded.spec,
                read_tokenizer_json(bytes, read_if_there(folder / "tokenizer_config.json")));
  const std::string source = read_if_there(folder / "chat_template.jinja");
  if (!source.empty()) loaded.spec.chat_template = source;
  return loaded;
}

/// The ids that generation_config.json names as ends, where it lies beside the tokenizer.
Status add_generation_config(const fs::path& folder, TokenizerSpec& spec) {
  const std::string text = read_if_there(folder / "generation_config.json");
  if (text.empty()) return {};
  const auto root = nlohmann::json::parse(text, nullptr, false);
  if (!root.is_object()) return error(Code::corrupt, "generation_config.json is no JSON object");
  const auto found = root.find("eos_token_id");
  if (found == root.end() || found->is_null()) return {};
  const nlohmann::json ids = found->is_array() ? *found : nlohmann::json::array({*found});
  for (const auto& node : ids) {
    const int64_t id = node.is_number_integer() ? node.get<int64_t>() : -1;
    if (id < 0 || static_cast<size_t>(id) >= spec.tokens.size()) {
      return error(Code::invalid_argument,
                   concat("generation_config.json: eos_token_id has ", node.dump()),
                   concat("ids of the vocabulary, 0 to ", spec.tokens.size() - 1));
    }
    spec.stop_ids.push_back(static_cast<int32_t>(id));
    if (spec.eos_id < 0) spec.eos_id = static_cast<int32_t>(id);
  }
  std::ranges::sort(spec.stop_ids);
  spec.stop_ids.erase(std::unique(spec.stop_ids.begin(), spec.stop_ids.end()), spec.stop_ids.end());
  return {};
}

Result<LoadedTokenizer> read_any(const fs::path& path, const GgufReaders& gguf) {
  LoadedTokenizer loaded;
  if (begins_as_gguf(path)) {
    TROUPE_ASSIGN(loaded.spec, gguf.file(path.string()));
    return loaded;
  }
  const Result<std::string> unpacked = read_unpacked(path.string());
  if (!unpacked.ok()) return unpacked.error();
  const std::string& bytes = *unpacked;
  if (bytes.starts_with("GGUF")) {
    // The reader wants an address divisible by 8.
    std::vector<uint64_t> aligned(bytes.size() / sizeof(uint64_t) + 1);
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
    TROUPE_ASSIGN(loaded.spec, gguf.bytes(std::as_bytes(std::span(aligned)).first(bytes.size())));
    return loaded;
  }
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && bytes[first] == '{') {
    return read_json(bytes, path.parent_path());
  }
  // What begins otherwise may only be this: the format has no sign of its own.
  loaded.kind = TokenizerFile::sentence_piece;
  auto spec = read_sentence_piece(bytes);
  if (!spec.ok()) {
    Error failure = std::move(spec).error();
    if (failure.hint.empty()) {
      failure.hint =
          "expected a GGUF file, tokenizer.json, tekken.json or a sentencepiece .model, packed "
          "with xz or not";
    }
    return failure;
  }
  loaded.spec = std::move(spec).value();
  return loaded;
}

}  // namespace

Result<std::string> read_unpacked(const std::string& path) {
  TROUPE_ASSIGN(std::string bytes, read_bytes(path, limits::tokenizer_file_bytes_max));
  if (!is_xz(bytes)) return bytes;
  return unpack_xz(bytes, limits::tokenizer_file_bytes_max);
}

Result<LoadedTokenizer> read_tokenizer_file(const std::string& path, const GgufReaders& gguf) {
  TROUPE_ASSIGN(const fs::path file, find_file(path));
  auto loaded = read_any(file, gguf);
  if (loaded.ok() && loaded->kind != TokenizerFile::gguf) {
    const Status status = add_generation_config(file.parent_path(), loaded->spec);
    if (!status.ok()) loaded = status.error();
  }
  if (loaded.ok()) return loaded;
  Error failure = std::move(loaded).error();
  if (failure.what.find(file.string()) == std::string::npos) {
    failure.what = concat(file.string(), ": ", failure.what);
  }
  return failure;
}

}  // namespace troupe::text
