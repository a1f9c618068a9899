#include "model/gguf_tokenizer_kinds.hpp"

#include <algorithm>
#include <string>

#include "model/gguf_fields.hpp"

namespace troupe::model {
namespace {

constexpr std::string_view space_mark = "\u2581";

text::NormalStep replace_spaces() {
  text::NormalStep step;
  step.kind = text::NormalKind::replace;
  step.pattern = " ";
  step.content = space_mark;
  return step;
}

bool contains_lowercased(std::string text, std::string_view wanted) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text.find(wanted) != std::string::npos;
}

/// Flags that the files of some models leave out.
Status add_known_flags(const GgufFile& file, text::TokenizerSpec& spec) {
  TROUPE_ASSIGN(const auto name, find_text(file, "general.name"));
  const bool phi3 = name && (contains_lowercased(std::string(*name), "phi-3") ||
                             contains_lowercased(std::string(*name), "phi3"));
  for (size_t i = 0; phi3 && i < spec.tokens.size(); ++i) {
    const text::TokenType type = spec.types[i];
    const bool special = type == text::TokenType::control || type == text::TokenType::unknown ||
                         type == text::TokenType::user_defined;
    const std::string& token = spec.tokens[i];
    if (!special || token == "<unk>" || token == "<s>" || token == "<|endoftext|>") continue;
    text::AddedToken flags;
    flags.id = static_cast<int32_t>(i);
    flags.rstrip = true;
    spec.added.push_back(flags);
  }
  return {};
}

Status finish_byte_level(const GgufFile&, text::TokenizerSpec& spec) {
  spec.kind = text::TokenizerKind::byte_level_bpe;
  return {};
}

void set_sentence_piece_rules(text::TokenizerSpec& spec) {
  spec.kind = text::TokenizerKind::bpe;
  spec.byte_fallback = true;
  spec.fuse_unknown = true;
  spec.decode.space = space_mark;
  spec.decode.byte_tokens = true;
  spec.decode.whole_byte_runs = true;
}

Status finish_llama(const GgufFile& file, text::TokenizerSpec& spec) {
  set_sentence_piece_rules(spec);
  spec.merge_order = text::MergeOrder::scores;
  TROUPE_ASSIGN(const auto prefix, find_bool(file, "tokenizer.ggml.add_space_prefix"));
  if (prefix.value_or(true)) {
    text::NormalStep step;
    step.kind = text::NormalKind::prepend;
    step.content = space_mark;
    spec.normal_steps.push_back(std::move(step));
    spec.decode.drop_first_space = true;
  }
  spec.normal_steps.push_back(replace_spaces());
  return add_known_flags(file, spec);
}

Status finish_gemma4(const GgufFile&, text::TokenizerSpec& spec) {
  set_sentence_piece_rules(spec);
  spec.normal_steps.push_back(replace_spaces());
  return {};
}

Status finish_t5(const GgufFile& file, text::TokenizerSpec& spec) {
  spec.kind = text::TokenizerKind::unigram;
  text::NormalStep step;
  step.kind = text::NormalKind::sentence_piece;
  step.escape_spaces = true;
  TROUPE_ASSIGN(const auto prefix, find_bool(file, "tokenizer.ggml.add_space_prefix"));
  TROUPE_ASSIGN(const auto extra, find_bool(file, "tokenizer.ggml.remove_extra_whitespaces"));
  step.add_space_prefix = prefix.value_or(true);
  step.remove_extra_spaces = extra.value_or(true);
  if (const GgufValue* map = file.value("tokenizer.ggml.precompiled_charsmap")) {
    if (map->type != GgufType::array ||
        (map->element != GgufType::u8 && map->element != GgufType::i8)) {
      return error(Code::corrupt, "tokenizer.ggml.precompiled_charsmap is no array of bytes");
    }
    step.charsmap.assign(reinterpret_cast<const char*>(map->payload.data()), map->payload.size());
  }
  spec.decode.space = space_mark;
  spec.decode.byte_tokens = true;
  spec.decode.control_is_silent = true;
  spec.decode.drop_first_space = step.add_space_prefix || step.remove_extra_spaces;
  spec.decode.drop_until_text = step.remove_extra_spaces;
  spec.decode.unknown_text = " \u2047 ";
  spec.user_defined_frozen = true;
  spec.normal_steps.push_back(std::move(step));
  return {};
}

/// GGUF writes a piece that begins a word with a mark before it; the vocabulary of the model has a
/// prefix on the others.
Status finish_bert(const GgufFile& file, text::TokenizerSpec& spec) {
  spec.kind = text::TokenizerKind::word_piece;
  spec.continuing_prefix = "##";
  constexpr uint32_t word_characters_max = 100;
  spec.word_characters_max = word_characters_max;
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    std::string& token = spec.tokens[i];
    if (spec.types[i] != text::TokenType::normal) continue;
    if (token.starts_with(space_mark) && token.size() > space_mark.size()) {
      token.erase(0, space_mark.size());
    } else if (!(token.size() > 1 && token.front() == '[' && token.back() == ']')) {
      token.insert(0, spec.continuing_prefix);
    }
  }
  text::NormalStep step;
  step.kind = text::NormalKind::bert;
  TROUPE_ASSIGN(const auto lower, find_bool(file, "tokenizer.ggml.normalizer.lowercase"));
  TROUPE_ASSIGN(const auto strip, find_bool(file, "tokenizer.ggml.normalizer.strip_accents"));
  step.clean_text = step.isolate_han = true;
  step.lowercase = lower.value_or(true);
  step.strip_accents = strip.value_or(step.lowercase);
  spec.normal_steps.push_back(std::move(step));
  text::PreStep words;
  words.kind = text::PreKind::bert;
  spec.pre_steps.push_back(std::move(words));
  spec.decode.words_apart = true;
  spec.decode.continuing_prefix = spec.continuing_prefix;
  return {};
}

constexpr GgufTokenizerKind kinds[] = {
    {.name = "gpt2", .has_merges = true, .has_pre_tokenizer = true, .finish = finish_byte_level},
    {.name = "llama",
     .has_scores = true,
     .add_bos = true,
     .bos_id = 1,
     .eos_id = 2,
     .unknown_id = 0,
     .finish = finish_llama},
    {.name = "gemma4", .has_merges = true, .add_bos = true, .finish = finish_gemma4},
    {.name = "t5",
     .has_scores = true,
     .add_eos = true,
     .eos_id = 1,
     .unknown_id = 2,
     .finish = finish_t5},
    {.name = "bert",
     .framed = true,
     .bos_id = 101,
     .eos_id = 102,
     .unknown_id = 100,
     .finish = finish_bert},
};

}  // namespace

const GgufTokenizerKind* find_tokenizer_kind(std::string_view name) {
  const auto found = std::ranges::find(kinds, name, &GgufTokenizerKind::name);
  return found == std::end(kinds) ? nullptr : found;
}

bool adds_bos_by_default(std::string_view pre_tokenizer) {
  constexpr std::string_view names[] = {"llama3",       "llama-v3", "llama-bpe", "falcon3",
                                        "falcon-h1",    "pixtral",  "midm-2.0",  "lfm2",
                                        "jina-v5-nano", "tekken",   "chameleon"};
  return std::ranges::find(names, pre_tokenizer) != std::end(names);
}

}  // namespace troupe::model
