// What a tokenizer is, independent of the file it came from. Plain data, filled by the readers of
// GGUF (model/), tokenizer.json, sentencepiece models and tekken.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::text {

enum class TokenizerKind : uint8_t {
  byte_level_bpe,  ///< tokens are spelt in the byte-level alphabet; symbols are bytes
  bpe,             ///< symbols are characters (missing ones: bytes, or the unknown token)
  unigram,         ///< the likeliest segmentation
  word_piece,      ///< the longest piece that fits, again and again
};

/// Token types as GGUF and sentencepiece number them.
enum class TokenType : uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

/// left + right become their concatenation; the rank is the place in the list.
struct SpelledMerge {
  std::string left;
  std::string right;
  bool operator==(const SpelledMerge&) const = default;
};

/// Where the order of merges comes from.
enum class MergeOrder : uint8_t {
  list,    ///< TokenizerSpec::merges
  scores,  ///< sentencepiece: the pair whose token has the highest score, then the leftmost
  ids,     ///< tiktoken: the pair whose token has the lowest id
};

/// How an added token is found in text (names and meaning are Hugging Face's).
struct AddedToken {
  int32_t id = -1;
  bool single_word = false;  ///< not inside of a word
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space after it
  bool normalized = false;   ///< is looked for after normalisation
  bool outside = false;      ///< the model does not know it: no word becomes it
  bool operator==(const AddedToken&) const = default;
};

enum class NormalKind : uint8_t {
  nfc,
  nfd,
  nfkc,
  nfkd,
  lowercase,
  strip_accents,   ///< removes marks (Mn)
  strip,           ///< white space at the ends: `left`, `right`
  replace,         ///< `pattern` by `content`
  prepend,         ///< `content` before a text that is not empty
  bert,            ///< clean, isolate Han, strip accents, lowercase, each by its flag
  nmt,             ///< control characters out, odd spaces to spaces
  byte_level,      ///< no change here: symbols are bytes
  charsmap,        ///< sentencepiece's precompiled map, applied as Hugging Face does
  sentence_piece,  ///< charsmap, space in front, white space, as sentencepiece does
};

struct NormalStep {
  NormalKind kind = NormalKind::nfc;
  std::string pattern;
  bool is_regex = false;
  std::string content;
  bool left = false;
  bool right = false;
  bool clean_text = false;
  bool isolate_han = false;
  bool strip_accents = false;
  bool lowercase = false;
  std::string charsmap;              ///< sentencepiece's precompiled_charsmap; may be empty
  bool add_space_prefix = false;     ///< a space before the text
  bool remove_extra_spaces = false;  ///< one space for several, none at the ends
  bool escape_spaces = false;        ///< U+2581 for a space
};

/// What becomes of the places where a pattern matches.
enum class SplitBehavior : uint8_t {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous
};

enum class PreKind : uint8_t {
  split,        ///< at matches of `pattern`
  digits,       ///< at numbers, each its own piece with `individual`
  punctuation,  ///< at punctuation, each character
  white_space,  ///< removes it
  bert,         ///< removes white space, isolates punctuation
  byte_level,   ///< with add_prefix_space: a space before a piece that has none
  metaspace,    ///< spaces become `replacement`
};

enum class PrependScheme : uint8_t { never, first, always };

struct PreStep {
  PreKind kind = PreKind::split;
  std::string pattern;
  bool is_regex = true;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
  bool individual = false;
  bool add_prefix_space = false;
  bool maps_bytes = false;  ///< byte_level: what follows sees the byte-level alphabet
  std::string replacement;
  PrependScheme prepend = PrependScheme::never;
  bool split = true;
};

/// How ids become text.
struct DecodeRules {
  bool byte_level = false;         ///< spelt in the byte-level alphabet
  bool byte_tokens = false;        ///< <0xXX> is a byte
  bool control_is_silent = false;  ///< control tokens decode to nothing (sentencepiece)
  bool whole_byte_runs = false;    ///< a run of bytes with a fault is U+FFFD for every byte
  bool drop_first_space = false;   ///< one space at the beginning is not text
  bool drop_first_spaces = false;  ///< none of the first token's spaces is
  bool drop_until_text = false;    ///< nor the first of every token until there is text
  std::string space;               ///< stands for a space, e.g. U+2581; may be empty
  bool clean_up = false;           ///< English punctuation and contractions without a space
  bool words_apart = false;        ///< a space before every token that does not continue a word
  std::string continuing_prefix;   ///< of a token that continues a word, e.g. "##"
  std::string word_suffix;         ///< of a token that ends a word, e.g. "</w>"
  std::string unknown_text;        ///< the unknown token as text; empty: its spelling
};

struct TokenizerSpec {
  TokenizerKind kind = TokenizerKind::byte_level_bpe;
  std::string pre_tokenizer;             ///< GGUF's name, e.g. "smollm"; empty: `pre_steps`
  std::vector<PreStep> pre_steps;        ///< in order, where pre_tokenizer is empty
  std::vector<NormalStep> normal_steps;  ///< in order; those that a name implies come first
  std::vector<std::string> tokens;       ///< id -> text in the file's spelling
  std::vector<TokenType> types;          ///< one per token
  std::vector<float> scores;             ///< one per token, or none
  std::vector<double> exact_scores;      ///< unigram of tokenizer.json: sums are of doubles
  MergeOrder merge_order = MergeOrder::list;
  std::vector<SpelledMerge> merges;
  std::vector<AddedToken> added;  ///< flags; a special token that is not listed has none
  DecodeRules decode;

  bool ignore_merges = false;        ///< a word that is a token is that token
  bool byte_fallback = false;        ///< a missing character becomes its <0xXX> tokens
  bool fuse_unknown = false;         ///< unknown characters in a row are one token
  bool user_defined_frozen = false;  ///< user-defined tokens are found in normalised text, as
                                     ///< sentencepiece does, and not before
  std::string continuing_prefix;     ///< bpe, word_piece: of symbols that do not begin a word
  std::string word_suffix;           ///< bpe: of the symbol that ends a word
  uint32_t word_characters_max = 0;  ///< word_piece: a longer word is unknown; 0: no limit

  int32_t bos_id = -1;  ///< -1: none
  int32_t eos_id = -1;
  int32_t unknown_id = -1;
  bool add_bos = false;
  bool add_eos = false;
  std::vector<int32_t> prefix_ids;  ///< what add_special puts before a text, instead of add_bos
  std::vector<int32_t> suffix_ids;  ///< and after it, instead of add_eos
  std::vector<int32_t> stop_ids;    ///< every id that ends a generation
  std::string chat_template;        ///< Jinja source; empty: the model has none
};

}  // namespace troupe::text
