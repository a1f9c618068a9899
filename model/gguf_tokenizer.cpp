#include "model/gguf_tokenizer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "model/gguf_fields.hpp"
#include "model/gguf_tokenizer_kinds.hpp"
#include "model/limits.hpp"
#include "model/mapped_file.hpp"
#include "model/quoted.hpp"
#include "text/stop_tokens.hpp"

namespace troupe::model {
namespace {

class TokenizerReader {
 public:
  TokenizerReader(const GgufFile& file, uint32_t vocab_size)
      : file_(file), vocab_size_(vocab_size) {}

  Result<text::TokenizerSpec> read() {
    TROUPE_TRY(read_template());
    const std::string model_key = "tokenizer.ggml.model";
    TROUPE_ASSIGN(const auto model, find_text(file_, model_key));
    const bool has_tokens = file_.value("tokenizer.ggml.tokens") != nullptr;
    if (!has_tokens && (!model || *model == "none" || *model == "no_vocab")) return spec_;
    const GgufTokenizerKind* kind = model ? find_tokenizer_kind(*model) : nullptr;
    if (kind == nullptr) {
      return error(Code::unsupported,
                   concat("the tokenizer model is ", model ? quoted(*model) : "not named"),
                   "supported: gpt2 (byte-level BPE), llama, gemma4, t5, bert");
    }
    TROUPE_TRY(read_tokens());
    TROUPE_TRY(read_types());
    if (kind->has_merges) TROUPE_TRY(read_merges());
    TROUPE_TRY(read_scores(kind->has_scores));
    TROUPE_TRY(read_special(*kind));
    TROUPE_TRY(kind->finish(file_, spec_));
    text::add_stop_tokens(spec_);
    return std::move(spec_);
  }

 private:
  Status read_template() {
    TROUPE_ASSIGN(const auto source, find_text(file_, "tokenizer.chat_template"));
    if (!source) return {};
    if (source->size() > limits::chat_template_bytes_max) {
      return error(Code::exhausted, concat("the chat template has ", source->size(), " bytes"),
                   concat("at most ", limits::chat_template_bytes_max));
    }
    spec_.chat_template = *source;
    return {};
  }

  Status read_tokens() {
    const std::string key = "tokenizer.ggml.tokens";
    TROUPE_ASSIGN(const auto texts, required(find_texts(file_, key), key));
    if (texts.size() != vocab_size_) {
      return error(Code::corrupt,
                   concat("there are ", texts.size(), " tokens for an embedding of ", vocab_size_),
                   "one token for each row of the embedding");
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].empty() || texts[i].size() > limits::token_bytes_max) {
        return error(Code::corrupt, concat("token ", i, " has ", texts[i].size(), " bytes"),
                     concat("a token has 1 to ", limits::token_bytes_max, " bytes"));
      }
    }
    spec_.tokens.assign(texts.begin(), texts.end());
    return {};
  }

  Status read_types() {
    spec_.types.assign(spec_.tokens.size(), text::TokenType::normal);
    TROUPE_ASSIGN(const auto types, find_integers(file_, "tokenizer.ggml.token_type"));
    if (!types) return {};
    if (types->size() != spec_.tokens.size()) {
      return error(
          Code::corrupt,
          concat("there are ", types->size(), " token types for ", spec_.tokens.size(), " tokens"),
          "one type for each token");
    }
    for (size_t i = 0; i < types->size(); ++i) {
      const int32_t type = (*types)[i];
      if (type < 0 || type > static_cast<int32_t>(text::TokenType::byte)) {
        return error(Code::corrupt, concat("token ", i, " has the type ", type), "0 to 6");
      }
      // 0 means undefined.
      if (type != 0) spec_.types[i] = static_cast<text::TokenType>(type);
    }
    return {};
  }

  Status read_merges() {
    const std::string key = "tokenizer.ggml.merges";
    TROUPE_ASSIGN(const auto merges, required(find_texts(file_, key), key));
    if (merges.size() > limits::merges_max) {
      return error(Code::exhausted, concat("there are ", merges.size(), " merges"),
                   concat("at most ", limits::merges_max));
    }
    spec_.merges.reserve(merges.size());
    for (size_t i = 0; i < merges.size(); ++i) {
      // A spelling never holds a space, so the separator is the first one after the first byte.
      const size_t space = merges[i].find(' ', 1);
      if (space == std::string_view::npos || space + 1 == merges[i].size() ||
          merges[i].size() > 2 * limits::token_bytes_max) {
        return error(Code::corrupt, concat("merge ", i, " is ", quoted(merges[i])),
                     "two tokens with a space between them");
      }
      spec_.merges.push_back(
          {std::string(merges[i].substr(0, space)), std::string(merges[i].substr(space + 1))});
    }
    return {};
  }

  Status read_scores(bool wanted) {
    const GgufValue* scores = wanted ? file_.value("tokenizer.ggml.scores") : nullptr;
    if (scores == nullptr) {
      return wanted
                 ? Status(error(Code::corrupt, "the metadata key tokenizer.ggml.scores is missing",
                                "this kind of tokenizer has a score for each token"))
                 : Status();
    }
    if (scores->type != GgufType::array || scores->element != GgufType::f32 ||
        scores->count != spec_.tokens.size()) {
      return error(Code::corrupt, "tokenizer.ggml.scores does not fit the tokens",
                   concat("an array of ", spec_.tokens.size(), " values of type f32"));
    }
    spec_.scores.resize(spec_.tokens.size());
    std::memcpy(spec_.scores.data(), scores->payload.data(), spec_.scores.size() * sizeof(float));
    return {};
  }

  /// -1 where the file names none.
  Result<int32_t> read_id(const char* key, int32_t otherwise = -1) {
    TROUPE_ASSIGN(const auto id, find_unsigned(file_, key));
    const bool fits = otherwise >= 0 && static_cast<size_t>(otherwise) < spec_.tokens.size();
    if (!id) return fits ? otherwise : int32_t{-1};
    // Some writers put -1 as an unsigned number.
    if (*id == std::numeric_limits<uint32_t>::max()) return int32_t{-1};
    if (*id >= spec_.tokens.size()) {
      return error(Code::corrupt, concat("the metadata key ", key, " is ", *id),
                   concat("an id below ", spec_.tokens.size(), ", the number of tokens"));
    }
    return static_cast<int32_t>(*id);
  }

  Status read_special(const GgufTokenizerKind& kind) {
    TROUPE_ASSIGN(const auto pre, find_text(file_, "tokenizer.ggml.pre"));
    if (kind.has_pre_tokenizer) spec_.pre_tokenizer = pre.value_or("default");
    TROUPE_ASSIGN(spec_.bos_id, read_id("tokenizer.ggml.bos_token_id", kind.bos_id));
    TROUPE_ASSIGN(spec_.eos_id, read_id("tokenizer.ggml.eos_token_id", kind.eos_id));
    TROUPE_ASSIGN(spec_.unknown_id, read_id("tokenizer.ggml.unknown_token_id", kind.unknown_id));
    TROUPE_ASSIGN(const int32_t end_of_turn, read_id("tokenizer.ggml.eot_token_id"));
    TROUPE_ASSIGN(const int32_t end_of_message, read_id("tokenizer.ggml.eom_token_id"));
    for (const int32_t id : {end_of_turn, end_of_message}) {
      if (id >= 0) spec_.stop_ids.push_back(id);
    }
    if (kind.framed) return read_frame(kind);
    const bool add_bos_default = kind.add_bos || adds_bos_by_default(pre.value_or(""));
    TROUPE_ASSIGN(const auto add_bos, find_bool(file_, "tokenizer.ggml.add_bos_token"));
    TROUPE_ASSIGN(const auto add_eos, find_bool(file_, "tokenizer.ggml.add_eos_token"));
    spec_.add_bos = add_bos.value_or(add_bos_default) && spec_.bos_id >= 0;
    spec_.add_eos = add_eos.value_or(kind.add_eos) && spec_.eos_id >= 0;
    return {};
  }

  /// CLS before and SEP after a text.
  Status read_frame(const GgufTokenizerKind& kind) {
    TROUPE_ASSIGN(const int32_t cls, read_id("tokenizer.ggml.cls_token_id", kind.bos_id));
    // Spelt like this by those who made the format.
    TROUPE_ASSIGN(const int32_t sep, read_id("tokenizer.ggml.seperator_token_id", kind.eos_id));
    if (spec_.bos_id < 0) spec_.bos_id = cls;
    if (cls >= 0) spec_.prefix_ids = {cls};
    if (sep >= 0) spec_.suffix_ids = {sep};
    return {};
  }

  const GgufFile& file_;
  uint32_t vocab_size_;
  text::TokenizerSpec spec_;
};

}  // namespace

Result<text::TokenizerSpec> read_tokenizer(const GgufFile& file, uint32_t vocab_size) {
  return TokenizerReader(file, vocab_size).read();
}

Result<text::TokenizerSpec> read_vocabulary(std::span<const std::byte> bytes) {
  TROUPE_ASSIGN(const GgufFile file, GgufFile::parse(bytes));
  const GgufValue* tokens = file.value("tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->type != GgufType::array) {
    return error(Code::not_found, "the file has no tokenizer",
                 "a GGUF file with tokenizer.ggml.tokens");
  }
  if (tokens->count > limits::vocab_max) {
    return error(Code::exhausted, concat("the file has ", tokens->count, " tokens"),
                 concat("at most ", limits::vocab_max));
  }
  return read_tokenizer(file, static_cast<uint32_t>(tokens->count));
}

Result<text::TokenizerSpec> read_vocabulary_file(const std::string& path) {
  TROUPE_ASSIGN(const auto mapping, MappedFile::open(path));
  return read_vocabulary(mapping->bytes());
}

}  // namespace troupe::model
