#include "model/gguf_tokenizer.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "model/gguf_fields.hpp"
#include "model/limits.hpp"
#include "model/quoted.hpp"

namespace troupe::model {
namespace {

// Control tokens that end a turn or a text in the model families that use them; many files name
// only one of them as eos.
constexpr std::string_view ending_tokens[] = {
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>",  "<|eom_id|>",      "<|end_of_text|>",
    "<|end|>",    "<end_of_turn>", "<|eot|>",     "<|end_of_turn|>", "</s>",
    "<eos>",      "<EOT>",         "<|endoftext>"};

// Pre-tokenizers whose models begin every prompt with bos when the file does not say.
constexpr std::string_view bos_by_default[] = {"llama3", "llama-v3", "llama-bpe"};

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
    if (!model || *model != "gpt2") {
      return error(Code::unsupported,
                   concat("the tokenizer model is ", model ? quoted(*model) : "not named"),
                   "supported: gpt2 (byte-level BPE)");
    }
    TROUPE_TRY(read_tokens());
    TROUPE_TRY(read_types());
    TROUPE_TRY(read_merges());
    TROUPE_TRY(read_special());
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
    TROUPE_ASSIGN(const auto pre, find_text(file_, "tokenizer.ggml.pre"));
    spec_.pre_tokenizer = pre.value_or("default");
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
    for (size_t i = 0; i < merges.size(); ++i) {
      const size_t space = merges[i].find(' ', 1);
      if (space == std::string_view::npos || space + 1 == merges[i].size() ||
          merges[i].size() > 2 * limits::token_bytes_max) {
        return error(Code::corrupt, concat("merge ", i, " is ", quoted(merges[i])),
                     "two tokens with a space between them");
      }
    }
    spec_.merges.assign(merges.begin(), merges.end());
    return {};
  }

  /// -1 where the file names none.
  Result<int32_t> read_id(const char* key) {
    TROUPE_ASSIGN(const auto id, find_unsigned(file_, key));
    // Some writers put -1 as an unsigned number.
    if (!id || *id == std::numeric_limits<uint32_t>::max()) return int32_t{-1};
    if (*id >= spec_.tokens.size()) {
      return error(Code::corrupt, concat("the metadata key ", key, " is ", *id),
                   concat("an id below ", spec_.tokens.size(), ", the number of tokens"));
    }
    return static_cast<int32_t>(*id);
  }

  Status read_special() {
    TROUPE_ASSIGN(spec_.bos_id, read_id("tokenizer.ggml.bos_token_id"));
    TROUPE_ASSIGN(spec_.eos_id, read_id("tokenizer.ggml.eos_token_id"));
    TROUPE_ASSIGN(spec_.unknown_id, read_id("tokenizer.ggml.unknown_token_id"));
    TROUPE_ASSIGN(const int32_t end_of_turn, read_id("tokenizer.ggml.eot_token_id"));
    TROUPE_ASSIGN(const int32_t end_of_message, read_id("tokenizer.ggml.eom_token_id"));
    const bool default_bos =
        std::ranges::find(bos_by_default, spec_.pre_tokenizer) != std::end(bos_by_default);
    TROUPE_ASSIGN(const auto add_bos, find_bool(file_, "tokenizer.ggml.add_bos_token"));
    TROUPE_ASSIGN(const auto add_eos, find_bool(file_, "tokenizer.ggml.add_eos_token"));
    spec_.add_bos = add_bos.value_or(default_bos) && spec_.bos_id >= 0;
    spec_.add_eos = add_eos.value_or(false) && spec_.eos_id >= 0;
    for (const int32_t id : {spec_.eos_id, end_of_turn, end_of_message}) {
      if (id >= 0) spec_.stop_ids.push_back(id);
    }
    for (size_t i = 0; i < spec_.tokens.size(); ++i) {
      if (spec_.types[i] != text::TokenType::control) continue;
      if (std::ranges::find(ending_tokens, spec_.tokens[i]) == std::end(ending_tokens)) continue;
      spec_.stop_ids.push_back(static_cast<int32_t>(i));
    }
    std::ranges::sort(spec_.stop_ids);
    spec_.stop_ids.erase(std::unique(spec_.stop_ids.begin(), spec_.stop_ids.end()),
                         spec_.stop_ids.end());
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

}  // namespace troupe::model
