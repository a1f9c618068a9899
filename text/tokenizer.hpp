// Text to token ids and back, as the model's own tokenizer does it. Immutable; any number of
// threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "text/added_tokens.hpp"
#include "text/bpe.hpp"
#include "text/normalizer.hpp"
#include "text/pre_steps.hpp"
#include "text/section_memo.hpp"
#include "text/tokenizer_spec.hpp"
#include "text/unigram.hpp"
#include "text/word_piece.hpp"

namespace troupe::text {

struct EncodeOptions {
  bool parse_special = false;  ///< control tokens spelt out in the text become their ids
  bool add_special = false;    ///< add BOS and EOS where the vocabulary asks for them
  /// With parse_special: a control token that would overlap one of these ranges stays text.
  /// Ascending and disjoint; borrowed for the call.
  std::span<const ByteRange> plain{};
  /// Of this tokenizer; what it knows is not encoded again. Null: none.
  SectionMemo* memo = nullptr;
  /// Only what was encoded under the same scope is known: who is answered sooner would learn what
  /// others say. Borrowed for the call.
  std::string_view memo_scope{};
};

class Tokenizer {
 public:
  /// Checks the whole spec: invalid_argument for lists that contradict each other, unsupported for
  /// a pre-tokenizer that this build lacks (the hint lists those it has).
  static Result<std::shared_ptr<const Tokenizer>> make(const TokenizerSpec& spec);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Ids of `text`. User-defined tokens are always matched, control tokens with parse_special.
  /// invalid_argument: not UTF-8; exhausted: longer than limits::prompt_bytes_max, or a pattern of
  /// the tokenizer takes too many steps on it.
  [[nodiscard]] Result<std::vector<int32_t>> encode(std::string_view text,
                                                    EncodeOptions options = {}) const;

  /// The bytes of the ids, joined: not necessarily UTF-8 (see replace_invalid_utf8). A space that
  /// the encoder put before the text is left out.
  /// invalid_argument: an id outside of the vocabulary.
  [[nodiscard]] Result<std::string> decode(std::span<const int32_t> ids,
                                           bool skip_special = false) const;

  /// The text of the ids as the reference prints it: broken characters are U+FFFD, in the number
  /// that the kind of tokenizer gives. Errors: as decode().
  [[nodiscard]] Result<std::string> decode_text(std::span<const int32_t> ids,
                                                bool skip_special = false) const;

  /// The bytes that a token stands for inside of a text; empty for an id outside of the
  /// vocabulary. Valid as long as the tokenizer.
  [[nodiscard]] std::string_view token_bytes(int32_t id) const;

  /// How the vocabulary spells a token: what a control token looks like in text.
  [[nodiscard]] std::string_view spelling(int32_t id) const;

  /// The token that stands for exactly these bytes; a special token before an ordinary one.
  [[nodiscard]] std::optional<int32_t> id_of(std::string_view bytes) const;

  [[nodiscard]] bool contains(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < types_.size();
  }
  /// True for control tokens: markup of the conversation, not text.
  [[nodiscard]] bool is_control(int32_t id) const;
  /// True for ids that end a generation.
  [[nodiscard]] bool is_stop(int32_t id) const;

  [[nodiscard]] int32_t size() const { return static_cast<int32_t>(types_.size()); }
  [[nodiscard]] int32_t bos_id() const { return bos_id_; }  ///< -1: none
  [[nodiscard]] int32_t eos_id() const { return eos_id_; }  ///< -1: none
  [[nodiscard]] const std::vector<int32_t>& stop_ids() const { return stop_ids_; }
  [[nodiscard]] TokenizerKind kind() const { return kind_; }

  /// Look-ups of merges that encode() made so far, on all threads: the measure of its work.
  [[nodiscard]] uint64_t merge_lookups() const;

 private:
  struct Scratch;
  struct ScratchPool;
  /// Strings joined, by id.
  struct Strings {
    std::string bytes;
    std::vector<size_t> offsets{0};  ///< one more than strings
    void add(std::string_view text) {
      bytes += text;
      offsets.push_back(bytes.size());
    }
    [[nodiscard]] std::string_view at(int32_t id) const {
      const size_t i = static_cast<size_t>(id);
      return std::string_view(bytes).substr(offsets[i], offsets[i + 1] - offsets[i]);
    }
  };

  Tokenizer();
  Status load(const TokenizerSpec& spec);
  Status load_tokens(const TokenizerSpec& spec);
  void load_symbols(const TokenizerSpec& spec);
  Status load_merges(const TokenizerSpec& spec);
  /// What added tokens that are found in normalised text look like there; they decode to it.
  using NormalContents = std::unordered_map<int32_t, std::string>;
  Status load_steps(const TokenizerSpec& spec, NormalContents& contents);
  Status load_added(const TokenizerSpec& spec, NormalContents& contents);
  void load_bytes(const TokenizerSpec& spec, const NormalContents& contents);
  Status load_special(const TokenizerSpec& spec);
  void load_space_cuts(const TokenizerSpec& spec);
  [[nodiscard]] Result<std::vector<Merge>> merges_of_tokens(const TokenizerSpec& spec) const;
  [[nodiscard]] std::string first_text(int32_t id) const;
  [[nodiscard]] int32_t find_spelling(std::string_view spelling) const;

  Status encode_sections(std::string_view text, const EncodeOptions& options, Scratch& scratch,
                         std::vector<int32_t>& ids) const;
  Status encode_section(std::string_view section, bool first, bool control, Scratch& scratch,
                        std::vector<int32_t>& ids) const;
  Status encode_normal(std::string_view text, bool first, Scratch& scratch,
                       std::vector<int32_t>& ids) const;
  void encode_piece(std::string_view piece, size_t readable, Scratch& scratch,
                    std::vector<int32_t>& ids) const;
  void encode_word(std::string_view word, size_t readable, Scratch& scratch,
                   std::vector<int32_t>& ids) const;
  void encode_new_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;
  void character_symbols(std::string_view word, Scratch& scratch) const;
  void append_bytes(std::string_view bytes, std::vector<int32_t>& ids) const;

  TokenizerKind kind_ = TokenizerKind::byte_level_bpe;
  std::vector<TokenType> types_;
  Strings bytes_;
  Strings spellings_;
  std::unordered_map<std::string_view, int32_t> by_bytes_;     ///< keys point into the strings
  std::unordered_map<std::string_view, int32_t> by_spelling_;  ///< not of control tokens
  std::array<int32_t, 256> byte_ids_{};                        ///< -1: the vocabulary has none
  std::unordered_map<uint32_t, int32_t> character_ids_;
  MergeTable merges_;
  UnigramModel unigram_;
  WordPieceModel word_piece_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  AddedTokens added_;         ///< in the text as it comes
  AddedTokens added_normal_;  ///< in normalised text
  DecodeRules decode_;
  std::string continuing_prefix_;
  std::string word_suffix_;
  bool ignore_merges_ = false;
  bool byte_fallback_ = false;
  bool fuse_unknown_ = false;
  bool normal_control_ = false;  ///< added_normal_ has control tokens
  /// bpe: no token holds U+2581 behind a character that ends with this byte, so that no merge
  /// crosses the place between them.
  std::array<bool, 256> cuts_before_space_{};
  std::vector<int32_t> prefix_ids_;
  std::vector<int32_t> suffix_ids_;
  std::vector<int32_t> stop_ids_;
  int32_t bos_id_ = -1;
  int32_t eos_id_ = -1;
  int32_t unknown_id_ = -1;
  std::unique_ptr<ScratchPool> pool_;
};

}  // namespace troupe::text
